// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "ptxloom/tune.hpp"

namespace ptxloom::tune {
namespace {

class GivenTimes : public Measurer {
 public:
  GivenTimes(std::function<double(const Settings&)> time_us, std::string name)
      : time_us_(std::move(time_us)), name_(std::move(name)) {}

  Reading measure(const Trial& trial) override {
    Reading reading;
    try {
      reading.us.assign(static_cast<std::size_t>(trial.samples), time_us_(trial.config));
      if (rival_) reading.rival_us.assign(reading.us.size(), *rival_);
    } catch (const Error& error) {
      reading.problem = error.diagnostics().front();
      reading.us.clear();
    } catch (const std::exception& error) {
      reading.problem = Diagnostic{.code = "candidate-failed", .message = error.what()};
    }
    return reading;
  }
  void set_rival(const Trial* rival) override {
    rival_ = rival == nullptr ? std::nullopt : std::optional(time_us_(rival->config));
  }
  Code code() const override { return Code::none; }
  std::string name() const override { return name_; }

 private:
  std::function<double(const Settings&)> time_us_;
  std::string name_;
  std::optional<double> rival_;
};

}  // namespace

std::unique_ptr<Measurer> make_measurer(std::function<double(const Settings&)> time_us, std::string name) {
  return std::make_unique<GivenTimes>(std::move(time_us), std::move(name));
}

}  // namespace ptxloom::tune
