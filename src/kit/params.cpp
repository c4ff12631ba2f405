// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/params.hpp"

#include <fmt/format.h>

#include <utility>

#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::kit {

const ParamRegs::Value& ParamRegs::find(std::string_view name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  std::string names;
  for (const auto& [known, value] : values_) names += (names.empty() ? "" : ", ") + known;
  throw Error(ErrorKind::usage, "unknown-parameter", fmt::format("the kernel has no parameter '{}'", name),
              "its parameters are: " + names);
}

Reg ParamRegs::operator[](std::string_view name) const { return find(name).reg; }

Pointer ParamRegs::pointer(std::string_view name) const {
  const Value& value = find(name);
  if (!value.is_pointer)
    throw Error(ErrorKind::usage, "unknown-parameter", fmt::format("parameter '{}' is not a pointer", name),
                "declare it with Params::pointer");
  return {.base = value.reg, .element = value.element};
}

Params& Params::add(ArgumentPlan argument, Use use) {
  for (const ArgumentPlan& other : arguments_)
    if (other.name == argument.name)
      throw Error(ErrorKind::usage, "bad-parameter",
                  fmt::format("there are two parameters '{}'", argument.name),
                  "give each parameter a name of its own");
  arguments_.push_back(std::move(argument));
  uses_.push_back(use);
  return *this;
}

Params& Params::size(std::string name, Type type, std::uint64_t value, bool baked) {
  if (!type.is_integer())
    throw Error(ErrorKind::usage, "bad-parameter",
                fmt::format("parameter '{}' is a size of type {}", name, type.name),
                "a size is an integer; use Params::scalar for other numbers");
  const int value_bits = type.is_signed() ? type.bits - 1 : type.bits;
  if (value_bits < 64 && (value >> value_bits) != 0)
    throw Error(ErrorKind::usage, "bad-parameter",
                fmt::format("parameter '{}' is {}, which is no {}", name, value, type.name),
                "declare it with a wider type");
  return add({.name = std::move(name), .type = type, .bits = value}, {.baked = baked});
}

Params& Params::scalar(std::string name, Type type, double value) {
  return add({.name = std::move(name), .type = type, .bits = encode(type, value)}, {});
}

Params& Params::pointer(std::string name, Type element) {
  std::string tensor = name;
  return pointer(std::move(name), element, std::move(tensor));
}

Params& Params::pointer(std::string name, Type element, std::string tensor) {
  return add({.name = std::move(name), .type = u64, .tensor = std::move(tensor)}, {.element = element});
}

Params& Params::aligned(std::uint32_t bytes) {
  if (arguments_.empty() || arguments_.back().tensor.empty())
    throw Error(ErrorKind::usage, "bad-parameter", "an alignment that follows no pointer",
                "call aligned() right after pointer() or value()");
  arguments_.back().alignment = bytes;
  return *this;
}

Params& Params::value(std::string name, Type type) {
  return add({.name = name, .type = u64, .tensor = name}, {.element = type, .loaded = true});
}

Params& Params::workspace(Type element) { return pointer(std::string(kWorkspace), element); }

Params& Params::map(std::string name, std::string tensor, const TensorMap& map) {
  return add({.name = std::move(name), .type = b8, .tensor = std::move(tensor), .map = map}, {});
}

Params& Params::map_in_workspace(std::string name, TensorMap map, std::uint64_t at) {
  map.address = at;
  return this->map(std::move(name), std::string(kWorkspace), map);
}

ParamRegs Params::declare(KernelBuilder& k) const {
  ParamRegs regs;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const ArgumentPlan& argument = arguments_[i];
    const auto& [element, baked, loaded] = uses_[i];
    ParamRegs::Value& value = regs.values_[argument.name];
    if (argument.map) {
      value.reg = k.tensor_map(argument.name);
    } else if (loaded) {
      value.reg = k.load("global", element, k.at(k.pointer(element, argument.name).base));
    } else if (!argument.tensor.empty()) {
      value = {k.pointer(element, argument.name).base, true, element};
    } else {
      value.reg = k.param(argument.type, argument.name);
      if (baked) value.reg = k.mov(argument.type, argument.bits);
    }
  }
  return regs;
}

}  // namespace ptxloom::kit
