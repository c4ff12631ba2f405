// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/build_words.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/runner.hpp"

namespace ptxloom {

std::vector<Prebuilt> prebuild(const std::shared_ptr<const Specs>& specs, const Template& kernel_template,
                               const Target& target, const Linker& linker, std::span<const Record> records) {
  std::vector<Prebuilt> built;
  for (const Record& record : records) {
    Prebuilt one{.record = record, .cached = false, .problem = {}};
    try {
      const Settings problem = kernel_template.problem(record.problem);
      const BuildWords words = split_build_words(record.config);
      const Settings config = kernel_template.config(*specs, target, problem, words.config);
      Emitted emitted = kernel_template.emit(specs, target, problem, config);
      apply_build_words(words.build, emitted.module);
      LinkOptions options = link_options(words.build);
      options.target = target.name();
      one.cached = linker.link(print(emitted.module), options).cached;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::missing) throw;
      one.problem = error.diagnostics().front();
    }
    built.push_back(std::move(one));
  }
  return built;
}

}  // namespace ptxloom
