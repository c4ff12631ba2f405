// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "ptxloom/tune.hpp"

// Devices whose times come from a formula, and a search over them.
namespace ptxloom::tune {

/// 300 configurations; the best is x=7 y=11.
inline Admissible make_space() {
  Space space{.parameters = {{"x", {}}, {"y", {}}}};
  for (int x = 0; x < 15; ++x) space.parameters[0].values.push_back(std::to_string(x));
  for (int y = 0; y < 20; ++y) space.parameters[1].values.push_back(std::to_string(y));
  return admit(space, Target("sm_90a"));
}

inline double time_of(const Settings& config) {
  const double x = std::stod(config.at("x")) - 7, y = std::stod(config.at("y")) - 11;
  return 50 + x * x + y * y + 0.1 * x;
}
inline const Settings kBest = {{"x", "7"}, {"y", "11"}};

inline const Maker kNothing = [](const Settings&) { return Candidate(); };

/// A device that takes `factor` times as long as it should, and a moment of real time.
struct Device {
  std::unique_ptr<Measurer> measurer;
  std::atomic<int> asked = 0;

  Device(std::string name, double factor) {
    measurer = make_measurer(
        [this, factor](const Settings& config) {
          ++asked;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return factor * time_of(config);
        },
        std::move(name));
  }
};

/// Gives what another one does, until it is gone.
class Mortal : public Measurer {
 public:
  Mortal(Measurer& inner, int lives) : inner_(inner), lives_(lives) {}
  std::string name() const override { return inner_.name(); }
  Code code() const override { return inner_.code(); }
  void set_rival(const Trial* rival) override { inner_.set_rival(rival); }
  Reading measure(const Trial& trial) override {
    if (lives_-- <= 0) throw Error(ErrorKind::refused, "worker-lost", "the device fell off the bus");
    return inner_.measure(trial);
  }

 private:
  Measurer& inner_;
  int lives_;
};

inline SearchResult run(const std::vector<Measurer*>& measurers, SearchOptions options = {}) {
  options.strategy = Strategy::random;
  options.seed = Catch::getSeed();
  options.warm_up = 0;
  const Admissible space = make_space();
  return search(space, Target("sm_90a"), kNothing, nullptr, measurers, options);
}

inline void check_each_once(const SearchResult& result) {
  std::set<Settings> tried;
  for (const Measurement& one : result.candidates) CHECK(tried.insert(one.config).second);
  CHECK(tried.size() == 300);
  CHECK(result.evaluations == 300);
}

}  // namespace ptxloom::tune
