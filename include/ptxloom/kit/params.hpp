// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/launch_plan.hpp"

/// \file
/// The parameters of a kernel, declared once. The `.param` list of the kernel with its registers, and the
/// arguments of the launch, come from the same list, so they agree in order, name and type:
///
///     kit::Params params;
///     params.size("n", u32, 1000).pointer("x", f32).pointer("y", f32).scalar("alpha", f32, 0.5);
///     const kit::ParamRegs in = params.declare(k);     // in the generator
///     launch.arguments = params.arguments();           // in the launch plan
///     k.store(in.pointer("y")[i], k.mul(k.load(in.pointer("x")[i]), in["alpha"]));
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The registers that hold a kernel's parameters.
class ParamRegs {
 public:
  /// The value of a size, a scalar or a value in memory; the address of a pointer; the generic address of a
  /// tensor map. Throws Error(usage, "unknown-parameter").
  Reg operator[](std::string_view name) const;
  /// A pointer with its element type. Throws Error(usage, "unknown-parameter") for other parameters, too.
  Pointer pointer(std::string_view name) const;
  /// Whether there is such a parameter.
  bool has(std::string_view name) const { return values_.contains(name); }

 private:
  friend class Params;
  struct Value {
    Reg reg;
    bool is_pointer = false;
    Type element;
  };
  const Value& find(std::string_view name) const;

  std::map<std::string, Value, std::less<>> values_;
};

/// A list of parameters, in the kernel's order. The functions that add one throw Error(usage,
/// "bad-parameter") if the name is taken; size() also if its type is not an integer or cannot hold the value.
class Params {
 public:
  /// An integer, such as an extent or a stride. `baked`: the kernel uses the value as a constant and ignores
  /// the argument, so that kernels with and without constants are launched alike.
  Params& size(std::string name, Type type, std::uint64_t value, bool baked = false);
  /// A number of any type; the value is rounded to the type.
  Params& scalar(std::string name, Type type, double value);
  /// The address of a tensor; the first function is for a tensor of the parameter's own name.
  ///@{
  Params& pointer(std::string name, Type element);
  Params& pointer(std::string name, Type element, std::string tensor);
  ///@}
  /// The tensor of the parameter that was added last begins at a multiple of this many bytes. A
  /// PreparedLaunch checks that before it launches anything.
  Params& aligned(std::uint32_t bytes);
  /// The address of a tensor of one value. The kernel loads it: its register holds the value.
  Params& value(std::string name, Type type);
  /// The address of the launch's workspace; the parameter's name is kWorkspace.
  Params& workspace(Type element);
  /// A tensor map of a tensor, whose address is relative to the tensor's.
  Params& map(std::string name, std::string tensor, const TensorMap& map);
  /// A tensor map of something in the workspace, `at` bytes from its beginning.
  Params& map_in_workspace(std::string name, TensorMap map, std::uint64_t at);

  /// The arguments of a launch.
  const std::vector<ArgumentPlan>& arguments() const { return arguments_; }
  /// Declares all parameters in the kernel and loads them.
  ParamRegs declare(KernelBuilder& k) const;

 private:
  /// How the kernel uses a parameter.
  struct Use {
    Type element = {};    // of a pointer
    bool baked = false;   // a constant takes the place of the argument
    bool loaded = false;  // the value at the address takes the place of the address
  };
  Params& add(ArgumentPlan argument, Use use);

  std::vector<ArgumentPlan> arguments_;
  std::vector<Use> uses_;  // one for each argument
};

}  // namespace kit
}  // namespace ptxloom
