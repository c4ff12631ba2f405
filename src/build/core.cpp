// SPDX-License-Identifier: Apache-2.0
// The module being built and the current function in it, with directives and comments.
#include <algorithm>
#include <atomic>

#include "build/operation.hpp"
#include "ir/naming.hpp"

namespace ptxloom {
namespace {

// The number of the current function. Registers store it and may outlive their builder, whose address could
// be reused by the next one, so only a process-wide count distinguishes them.
std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t number = 0;
  while (number == 0) number = ++last;  // 0 belongs to no builder
  return number;
}

}  // namespace

BuilderCore::BuilderCore(std::shared_ptr<const Specs> specs, std::string name, Target target, Caller at)
    : target_(target), module_number_(next_number()), version_(target.since()) {
  module_.specs = std::move(specs);
  module_.target = target.name();
  scope_ = begin_scope("kernel", std::move(name), at);
  // Reserves space for a large unrolled kernel: growing while thousands of instructions arrive costs more
  // than emitting them.
  ir::Kernel& made = module_.functions.back();
  made.instructions.reserve(8192);
  made.body.reserve(8192);
  made.operands.reserve(32768);
  made.registers.reserve(8192);
}

BuilderCore::Scope BuilderCore::begin_scope(std::string_view kind, std::string name, Caller at) {
  const std::string subject = std::string(kind) + " " + name;
  require_name(name, "bad-kernel-name", at);
  if (module_.find(name) != nullptr)
    throw Error(ErrorKind::usage, "duplicate-name",
                place_of(at) + ": " + within() + "'" + name +
                    "' is already the name of a kernel or function of the module",
                "use another name");
  module_.functions.emplace_back().name = std::move(name);
  Scope made;
  made.function = module_.functions.size() - 1;
  made.subject = subject;
  made.number = next_number();
  return made;
}

BuilderCore::Operation BuilderCore::operation(std::string_view name, Caller at) const {
  return {name, scope_.subject, scope_.number, at};
}

const Specs& BuilderCore::specs() const {
  if (!module_.specs)
    throw Error(ErrorKind::usage, "moved-from", "a KernelBuilder is used after it was moved",
                "use the one that it was moved to");
  return *module_.specs;
}

ir::Kernel& BuilderCore::kernel(Caller at) {
  if (!module_.specs)
    throw Error(ErrorKind::usage, "moved-from", place_of(at) + ": a KernelBuilder is used after it was moved",
                "use the one that it was moved to");
  if (finished_)
    throw Error(ErrorKind::usage, "builder-finished",
                place_of(at) + ": " + scope_.subject + ": the builder is used after finish()",
                "call finish() last, and use a new KernelBuilder for another module");
  return module_.functions[scope_.function];
}

void BuilderCore::require_kernel(std::string_view name, Caller at) const {
  if (scope_.nested)
    operation(name, at).refuse("not-a-kernel",
                               "it is for kernels only, and is called in the body of a function",
                               "call it outside the body passed to function()");
}

std::string_view BuilderCore::word(std::initializer_list<std::string_view> parts) {
  scratch_.clear();
  for (const std::string_view part : parts) scratch_.append(part);
  return scratch_;
}

void BuilderCore::comment(std::string text, Caller at) {
  ir::Kernel& k = kernel(at);
  k.body.push_back({ir::Statement::Kind::comment, static_cast<std::uint32_t>(k.comments.size())});
  k.comments.push_back(std::move(text));
}

void BuilderCore::pragma(std::string text, Caller at) {
  ir::Kernel& k = kernel(at);
  if (text.size() < 2 || text.find('"', 1) != text.size() - 1 || text.front() != '"' ||
      text.find_first_of("\r\n") != text.npos)
    operation("pragma", at)
        .refuse("bad-pragma", "'" + text + "' is not a string in quotes",
                "write pragma(\"\\\"nounroll\\\"\")");
  k.body.push_back({ir::Statement::Kind::pragma, static_cast<std::uint32_t>(k.pragmas.size())});
  k.pragmas.push_back(std::move(text));
}

void BuilderCore::section(std::string_view title, Caller at) {
  comment("---- " + std::string(title) + " ----", at);
}

void BuilderCore::header(std::string line, Caller at) {
  kernel(at);
  module_.header.push_back(std::move(line));
}

void BuilderCore::source_lines(bool on) {
  source_lines_ = on;
  last_line_ = {};
}

// Emits one `.loc` whenever the line changes. Files are numbered from 1 in order of appearance.
void BuilderCore::append_location(ir::Kernel& k, Caller at) {
  if (at.line() == last_line_.line() && at.column() == last_line_.column() &&
      std::string_view(at.file_name()) == last_line_.file_name())
    return;
  last_line_ = at;
  const std::string name = "\"" + std::string(at.file_name()) + "\"";
  auto file = std::ranges::find(module_.files, name, &ir::File::name);
  if (file == module_.files.end()) {
    const auto number = static_cast<std::uint32_t>(module_.files.size() + 1);
    file = module_.files.insert(file, {.index = number, .name = name});
  }
  k.body.push_back({ir::Statement::Kind::location, static_cast<std::uint32_t>(k.locations.size())});
  k.locations.push_back({.place = {.file = file->index, .line = at.line(), .column = at.column()}});
}

void BuilderCore::require_block(std::uint32_t x, std::uint32_t y, std::uint32_t z, Caller at) {
  ir::Kernel& k = kernel(at);
  require_kernel("require_block", at);
  k.reqntid = {x, y, z};
}

void BuilderCore::max_block(std::uint32_t x, std::uint32_t y, std::uint32_t z, Caller at) {
  ir::Kernel& k = kernel(at);
  require_kernel("max_block", at);
  k.maxntid = {x, y, z};
}

// The specs give the target's maximum number of thread blocks per cluster.
void BuilderCore::require_cluster(std::uint32_t x, std::uint32_t y, std::uint32_t z, Caller at) {
  ir::Kernel& k = kernel(at);
  require_kernel("require_cluster", at);
  const auto most = static_cast<std::uint64_t>(target_.info().cluster_blocks);
  const std::uint64_t blocks = std::uint64_t{x} * y * z;
  if (most == 0)
    operation("require_cluster", at)
        .refuse("launch-bounds", std::string(target_.name()) + " does not have clusters",
                "build for sm_90 or later");
  if (blocks == 0 || blocks > most)
    operation("require_cluster", at)
        .refuse("launch-bounds", std::to_string(blocks) + " blocks",
                "a cluster of " + std::string(target_.name()) + " has 1 to " + std::to_string(most));
  k.reqnctapercluster = {x, y, z};
}

void BuilderCore::min_blocks_per_sm(std::uint32_t blocks, Caller at) {
  ir::Kernel& k = kernel(at);
  require_kernel("min_blocks_per_sm", at);
  if (blocks == 0) operation("min_blocks_per_sm", at).refuse("launch-bounds", "0 blocks", "use 1 or more");
  k.minnctapersm = blocks;
}

void BuilderCore::max_registers(std::uint32_t count, Caller at) {
  ir::Kernel& k = kernel(at);
  require_kernel("max_registers", at);
  if (count == 0) operation("max_registers", at).refuse("launch-bounds", "0 registers", "use 1 or more");
  k.maxnreg = count;
}

}  // namespace ptxloom
