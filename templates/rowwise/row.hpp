// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/reduce.hpp"
#include "ptxloom/kit/rows.hpp"
#include "rowwise/config.hpp"

// A row as its operations see it: values in f32, in parts that fit into registers. Of a row that is kept
// there is one part, which is loaded once; otherwise each pass loads all parts again.
namespace ptxloom::rowwise_kernel {

/// A part of the row in registers.
class Part {
 public:
  Part(KernelBuilder& k, const kit::RowWindow& window, Type type, std::vector<std::vector<Reg>> kept)
      : k_(k), window_(window), type_(type), kept_(std::move(kept)) {}

  const kit::RowWindow& window() const { return window_; }
  int slots() const { return window_.slots(); }
  /// The values of a slot; those outside the row are the row's fill.
  std::vector<Reg> values(int slot) const;
  /// From here on, 16-bit elements are converted again, once this value (f32) is known. Otherwise ptxas keeps
  /// what it has converted before, in twice as many registers.
  void convert_again_after(Reg value);

 private:
  KernelBuilder& k_;
  kit::RowWindow window_;
  Type type_;
  std::vector<std::vector<Reg>> kept_;
  std::optional<Reg> zero_;  // b32: what the registers are combined with by xor
};

class Row {
 public:
  using Body = std::function<void(Part&)>;

  /// Elements outside the row have the value `fill`.
  Row(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in,
      const kit::RowWindow& window, double fill);

  /// As Part::convert_again_after, of a row that is kept.
  void convert_again_after(Reg value) {
    if (kept_) kept_->convert_again_after(value);
  }
  /// Emits `body` for each part; the number of the part is not known when the kernel is made.
  void each_part(const Body& body);
  /// The same for each slot: `body` returns the results for its values.
  void store(const std::function<std::vector<Reg>(const Part&, int slot)>& body);

 private:
  Part load(const kit::RowWindow& window) const;

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  const kit::ParamRegs& in_;
  kit::RowWindow window_;
  double fill_;
  std::optional<Part> kept_;
};

/// What the operations are emitted with.
struct RowKernel {
  KernelBuilder& k;
  const Problem& p;
  const Config& c;
  const kit::ParamRegs& in;
  const kit::RowWindow& window;
  kit::Reducer& reducer;
  Reg row;                     // its number
  std::optional<Reg> present;  // whether there is such a row; nullopt: there always is
};
void emit_softmax(const RowKernel& kernel);
void emit_norm(const RowKernel& kernel);

}  // namespace ptxloom::rowwise_kernel
