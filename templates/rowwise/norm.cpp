// SPDX-License-Identifier: Apache-2.0
// rms_norm and layer_norm. The variance is that of Chan, Golub and LeVeque's corrected two-pass algorithm:
// the rounding error of the mean is the mean of what is left after subtracting it, and is subtracted, too.
#include "rowwise/row.hpp"

namespace ptxloom::rowwise_kernel {
namespace {

// The scale of a row of zeros is not zero, and its inverse is finite.
constexpr float kLargestE4m3 = 448, kLeastMagnitude = 0x1p-100F;

/// Sums of a thread, one for each element of a vector, so that additions need not wait for each other.
class Sums {
 public:
  Sums(KernelBuilder& k, int vector) : k_(k) {
    for (int i = 0; i < vector; ++i) sums_.push_back(k.mov(f32, 0.0F));
  }
  void add(std::size_t i, Reg x) { k_.set(sums_[i], k_.add(sums_[i], x)); }
  void add_square(std::size_t i, Reg x) { k_.set(sums_[i], k_.fma(x, x, sums_[i])); }
  Reg total() const {
    Reg sum = sums_[0];
    for (std::size_t i = 1; i < sums_.size(); ++i) sum = k_.add(sum, sums_[i]);
    return sum;
  }

 private:
  KernelBuilder& k_;
  std::vector<Reg> sums_;
};

/// What all elements of a row have in common: y = ((x - mean) - rest) * factor.
struct Moments {
  std::optional<Reg> mean, rest;  // of layer_norm
  Reg factor;

  Reg apply(KernelBuilder& k, Reg x) const { return k.mul(mean ? k.sub(k.sub(x, *mean), *rest) : x, factor); }
};

class Norm {
 public:
  explicit Norm(const RowKernel& kernel)
      : kernel_(kernel),
        k_(kernel.k),
        row_(kernel.k, kernel.p, kernel.c, kernel.in, kernel.window, 0),
        per_element_(static_cast<float>(1.0 / kernel.p.n)) {}

  Moments moments() { return kernel_.p.op == Op::rms_norm ? root_mean_square() : mean_and_variance(); }

  void store(const Moments& moments) {
    row_.store([&](const Part& part, int slot) { return results(moments, part, slot); });
  }

  /// Divides the results by their scale, which makes the largest magnitude of the row that of e4m3.
  void store_quantised(const Moments& moments) {
    const Reg largest = k_.max(kernel_.reducer.max(largest_magnitude(moments)), kLeastMagnitude);
    row_.convert_again_after(largest);
    store_scale(k_.mul(largest, 1 / kLargestE4m3));
    const Reg factor = k_.mul(k_.rcp(largest), kLargestE4m3);
    row_.store([&](const Part& part, int slot) {
      std::vector<Reg> values = results(moments, part, slot);
      for (Reg& value : values) value = k_.mul(value, factor);
      return values;
    });
  }

 private:
  std::vector<Reg> results(const Moments& moments, const Part& part, int slot) {
    if (slot == 0) open(part);
    const std::vector<Reg> weight = load(weight_, slot), bias = load(bias_, slot);
    std::vector<Reg> results;
    for (const Reg& value : part.values(slot)) {
      const std::size_t i = results.size();
      Reg y = moments.apply(k_, value);
      if (weight_ && bias_)
        y = k_.fma(y, weight[i], bias[i]);
      else if (weight_)
        y = k_.mul(y, weight[i]);
      else if (bias_)
        y = k_.add(y, bias[i]);
      results.push_back(y);
    }
    return results;
  }

  // Of this thread's elements; NaN is ignored.
  Reg largest_magnitude(const Moments& moments) {
    const Reg largest = k_.mov(f32, 0.0F);
    row_.each_part([&](const Part& part) {
      for (int slot = 0; slot < part.slots(); ++slot) {
        const std::vector<Reg> values = results(moments, part, slot);
        for (std::size_t i = 0; i < values.size(); ++i) {
          Reg magnitude = k_.abs(values[i]);
          if (const auto inside = part.window().inside(slot, static_cast<int>(i)))
            magnitude = k_.select(*inside, magnitude, 0.0F);
          k_.set(largest, k_.max(largest, magnitude));
        }
      }
    });
    return largest;
  }

  void store_scale(Reg scale) {
    Reg stores = k_.eq(kit::thread_in_team(k_, kernel_.c.team()), 0);
    if (kernel_.present) stores = k_.and_(stores, *kernel_.present);
    k_.if_(stores, [&] { k_.store(kernel_.in.pointer("scale")[kernel_.row], scale); });
  }

  Reg factor_of(Reg mean_square) { return k_.rsqrt(k_.add(mean_square, kernel_.in["eps"])); }

  Moments root_mean_square() {
    Sums squares(k_, kernel_.c.vector);
    each_value([&](const Part&, int, std::size_t i, Reg x) { squares.add_square(i, x); });
    const Reg sum = kernel_.reducer.sum(squares.total());
    row_.convert_again_after(sum);
    return {.factor = factor_of(k_.mul(sum, per_element_))};
  }

  Moments mean_and_variance() {
    Sums all(k_, kernel_.c.vector), left(k_, kernel_.c.vector), squares(k_, kernel_.c.vector);
    each_value([&](const Part&, int, std::size_t i, Reg x) { all.add(i, x); });
    const Reg mean = k_.mul(kernel_.reducer.sum(all.total()), per_element_);
    row_.convert_again_after(mean);
    each_value([&](const Part& part, int slot, std::size_t i, Reg x) {
      Reg distance = k_.sub(x, mean);
      if (const auto inside = part.window().inside(slot, static_cast<int>(i)))
        distance = k_.select(*inside, distance, 0.0F);
      left.add(i, distance);
      squares.add_square(i, distance);
    });
    const std::vector<Reg> sums = kernel_.reducer.sums({left.total(), squares.total()});
    row_.convert_again_after(sums[1]);
    const Reg rest = k_.mul(sums[0], per_element_);
    const Reg variance = k_.fma(k_.neg(rest), rest, k_.mul(sums[1], per_element_));
    return {.mean = mean, .rest = rest, .factor = factor_of(k_.max(variance, 0.0F))};
  }

  void each_value(const std::function<void(const Part&, int slot, std::size_t i, Reg x)>& body) {
    row_.each_part([&](const Part& part) {
      for (int slot = 0; slot < part.slots(); ++slot) {
        const std::vector<Reg> values = part.values(slot);
        for (std::size_t i = 0; i < values.size(); ++i) body(part, slot, i, values[i]);
      }
    });
  }

  /// The vectors of a norm, seen from a part of the row.
  void open(const Part& part) {
    const auto tensor = [&](const char* name) {
      return kit::RowTensor(k_, part.window(), kernel_.in.pointer(name), 0, kit::RowCaching::kept, true);
    };
    if (kernel_.p.weight) weight_.emplace(tensor("weight"));
    if (kernel_.p.bias) bias_.emplace(tensor("bias"));
  }

  std::vector<Reg> load(const std::optional<kit::RowTensor>& tensor, int slot) {
    if (!tensor) return {};
    return kit::unpack_values(k_, tensor->type(), kernel_.c.vector, tensor->load(slot));
  }

  const RowKernel& kernel_;
  KernelBuilder& k_;
  Row row_;
  std::optional<kit::RowTensor> weight_, bias_;
  float per_element_;
};

}  // namespace

void emit_norm(const RowKernel& kernel) {
  Norm norm(kernel);
  const Moments moments = norm.moments();
  kernel.p.quantised() ? norm.store_quantised(moments) : norm.store(moments);
}

}  // namespace ptxloom::rowwise_kernel
