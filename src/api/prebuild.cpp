// SPDX-License-Identifier: Apache-2.0
#include "api/emission.hpp"
#include "ptxloom/build_words.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/runner.hpp"

namespace ptxloom {

std::vector<Prebuilt> prebuild(const std::shared_ptr<const Specs>& specs, const Template& kernel_template,
                               const Target& target, const Linker& linker, std::span<const Record> records) {
  const api::Emitter emitter(specs, kernel_template, target, linker.cache());
  std::vector<Prebuilt> built;
  for (const Record& record : records) {
    Prebuilt one{.record = record, .cached = false, .problem = {}};
    try {
      const Settings problem = kernel_template.problem(record.problem);
      const api::Emission emission = emitter.emit(problem, record.config);
      LinkOptions options = link_options(split_build_words(record.config).build);
      options.target = target.name();
      const std::string ptx = print(*emission.module);
      one.cached = linker.link(ptx, options).cached;
      emitter.keep(problem, record.config, emission, ptx);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::missing) throw;
      one.problem = error.diagnostics().front();
    }
    built.push_back(std::move(one));
  }
  return built;
}

}  // namespace ptxloom
