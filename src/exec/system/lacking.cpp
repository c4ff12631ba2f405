// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "exec/machine/operation.hpp"
#include "exec/machine/system_call.hpp"

// What the executor has nothing for, by name: system calls, and groups of forms.
namespace ptxloom::exec {
namespace {

constexpr const char* kHeap = "the executor has no device heap (malloc, free, new, delete)";
constexpr const char* kRuntime =
    "the executor has no CUDA runtime for device code: a kernel cannot launch another (dynamic parallelism)";

constexpr std::array kFunctions{
    SystemFunction{.name = "malloc", .lacks = kHeap},
    SystemFunction{.name = "free", .lacks = kHeap},
    SystemFunction{.name = "cuda*", .lacks = kRuntime},
    SystemFunction{.name = "__cuda*", .lacks = kRuntime},
};

struct FormGroup {
  std::string_view beginning;
  const char* lacks;
};
constexpr std::array kForms{
    FormGroup{"tex", "textures"},  FormGroup{"tld4", "textures"},
    FormGroup{"txq", "textures"},  FormGroup{"suld", "surfaces"},
    FormGroup{"suq", "surfaces"},  FormGroup{"sured", "surfaces"},
    FormGroup{"sust", "surfaces"}, FormGroup{"tcgen05", "tensor memory (tcgen05)"},
};

}  // namespace

std::span<const SystemFunction> lacking_functions() { return kFunctions; }

std::string lacking(std::string_view form) {
  for (const FormGroup& group : kForms)
    if (form.starts_with(group.beginning)) return fmt::format("it has no {}", group.lacks);
  return fmt::format("it has no semantics for the form {}", form);
}

}  // namespace ptxloom::exec
