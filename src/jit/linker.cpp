// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>
#include <utility>

#include "cuda/driver.hpp"
#include "cuda/nvjitlink.hpp"
#include "jit/compiler_log.hpp"
#include "jit/ptx_header.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/version.hpp"

namespace ptxloom {
namespace {

/// Owns an nvJitLink handle and retrieves its texts and bytes.
class LinkHandle {
 public:
  LinkHandle(const cuda::NvJitLink& library, const std::vector<std::string>& arguments) : library_(library) {
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    created_ =
        library_.nvJitLinkCreate(&handle_, static_cast<std::uint32_t>(pointers.size()), pointers.data());
  }
  ~LinkHandle() {
    if (handle_ != nullptr) library_.nvJitLinkDestroy(&handle_);
  }
  LinkHandle(const LinkHandle&) = delete;
  LinkHandle& operator=(const LinkHandle&) = delete;

  nvJitLinkResult created() const { return created_; }
  nvJitLinkResult link(std::string_view ptx) {
    const nvJitLinkResult added =
        library_.nvJitLinkAddData(handle_, NVJITLINK_INPUT_PTX, ptx.data(), ptx.size(), "kernel.ptx");
    return added != NVJITLINK_SUCCESS ? added : library_.nvJitLinkComplete(handle_);
  }
  std::string error_log() const {
    return text(library_.nvJitLinkGetErrorLogSize, library_.nvJitLinkGetErrorLog);
  }
  std::string info_log() const {
    return text(library_.nvJitLinkGetInfoLogSize, library_.nvJitLinkGetInfoLog);
  }
  std::vector<std::byte> cubin() const {
    std::size_t size = 0;
    library_.nvJitLinkGetLinkedCubinSize(handle_, &size);
    std::vector<std::byte> bytes(size);
    if (library_.nvJitLinkGetLinkedCubin(handle_, bytes.data()) != NVJITLINK_SUCCESS) bytes.clear();
    return bytes;
  }

 private:
  template <typename GetSize, typename Get>
  std::string text(GetSize get_size, Get get) const {
    std::size_t size = 0;
    if (handle_ == nullptr || get_size(handle_, &size) != NVJITLINK_SUCCESS || size == 0) return {};
    std::string log(size, '\0');
    get(handle_, log.data());
    // Some versions include the terminating zero in the size, others do not.
    log.resize(std::strlen(log.c_str()));
    return log;
  }

  const cuda::NvJitLink& library_;
  nvJitLinkHandle handle_ = nullptr;
  nvJitLinkResult created_ = NVJITLINK_SUCCESS;
};

/// sm_ and two or three digits, optionally followed by a or f. nvJitLink 13.0 terminates the process on
/// "sm_1".
bool is_target(std::string_view text) {
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  return (text.size() == 2 || text.size() == 3) &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

void check_options(const LinkOptions& options) {
  const auto refuse = [](std::string message, const char* hint) {
    throw Error(ErrorKind::usage, "bad-link-option", std::move(message), hint);
  };
  if (!is_target(options.target)) {
    refuse(fmt::format("\"{}\" is not a target", options.target),
           "set LinkOptions::target to a target such as sm_90a");
  }
  if (options.optimisation < 0 || options.optimisation > 3) {
    refuse(fmt::format("there is no optimisation level {}", options.optimisation), "use 0 to 3");
  }
  if (options.max_registers < 0 || options.max_registers > 255) {
    refuse(fmt::format("a thread cannot have {} registers", options.max_registers),
           "use 1 to 255, or 0 for no limit");
  }
}

std::vector<std::string> arguments_of(const LinkOptions& options, unsigned linker_major) {
  std::vector<std::string> arguments = {"-arch=" + options.target, "-verbose"};
  // nvJitLink accepts only levels 0 and 3, the ptxas inside it all levels.
  const int level = options.debug ? 0 : options.optimisation;
  arguments.emplace_back(level == 0 ? "-O0" : "-O3");
  if (level == 1 || level == 2) arguments.push_back(fmt::format("-Xptxas=-O{}", level));
  if (options.debug) arguments.emplace_back("-g");
  if (options.line_info && !options.debug) arguments.emplace_back("-lineinfo");
  if (options.max_registers > 0) arguments.push_back(fmt::format("-maxrregcount={}", options.max_registers));
  // nvJitLink's own cache returns no log, and makes timings depend on the machine's history.
  if (linker_major >= 13) arguments.emplace_back("-no-cache");
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());
  return arguments;
}

std::string cache_key(std::string_view linker, const std::vector<std::string>& arguments,
                      std::string_view ptx) {
  std::string key = fmt::format("ptxloom {}\nnvJitLink {}\n", PTXLOOM_VERSION, linker);
  for (const std::string& argument : arguments) key.append(argument).append("\n");
  return key.append("\n").append(ptx);
}

// A cached value is the cubin's size, the cubin and the linker's log.
std::vector<std::byte> pack(std::span<const std::byte> cubin, std::string_view log) {
  const std::uint64_t size = cubin.size();
  std::vector<std::byte> value(sizeof size);
  std::memcpy(value.data(), &size, sizeof size);
  value.insert(value.end(), cubin.begin(), cubin.end());
  const auto tail = std::as_bytes(std::span(log));
  value.insert(value.end(), tail.begin(), tail.end());
  return value;
}

LinkResult make_result(std::vector<std::byte> cubin, std::string_view log, bool cached) {
  return {.cubin = std::move(cubin),
          .diagnostics = jit::parse_link_log(log),
          .resources = jit::parse_resources(log),
          .cached = cached};
}

std::optional<LinkResult> unpack(std::span<const std::byte> value) {
  std::uint64_t size = 0;
  if (value.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, value.data(), sizeof size);
  value = value.subspan(sizeof size);
  if (size > value.size()) return std::nullopt;
  const auto log = value.subspan(size);
  return make_result({value.begin(), value.begin() + static_cast<std::ptrdiff_t>(size)},
                     {reinterpret_cast<const char*>(log.data()), log.size()}, true);
}

/// The cache's list of linkers that have filled it, latest first, one per line. Opening nvJitLink takes
/// longer than everything else in a process that links nothing, so a process that only uses cached results
/// avoids it.
constexpr std::string_view kLinkersKey = "ptxloom " PTXLOOM_VERSION "\nlinkers";

std::string known_linkers(const Cache& cache) {
  const auto value = cache.find(kLinkersKey);
  return value ? std::string(reinterpret_cast<const char*>(value->data()), value->size()) : std::string();
}

void remember_linker(const Cache& cache, const std::string& identity) {
  if (!cache.enabled()) return;
  std::string linkers = known_linkers(cache);
  if (("\n" + linkers).find("\n" + identity + "\n") != std::string::npos) return;
  linkers.insert(0, identity + "\n");
  cache.store(kLinkersKey, std::as_bytes(std::span(linkers)));
}

/// A cached result of one of them that the current driver can load.
std::optional<LinkResult> find_by_any(const Cache& cache, const Libraries& libraries,
                                      const LinkOptions& options, std::string_view ptx) {
  std::istringstream lines(known_linkers(cache));
  for (std::string identity; std::getline(lines, identity);) {
    const auto major = static_cast<unsigned>(std::atoi(identity.c_str()));  // "13.0, ..."
    if (libraries.has_driver() &&
        check_driver_version(libraries.driver().api_version, static_cast<int>(major)))
      continue;
    const auto value = cache.find(cache_key(identity, arguments_of(options, major), ptx));
    if (!value) continue;
    if (auto result = unpack(*value)) return result;
  }
  return std::nullopt;
}

[[noreturn]] void throw_not_cached(const Cache& cache, const LinkOptions& options) {
  throw Error(ErrorKind::refused, "not-cached",
              fmt::format("this kernel for {} is not in the cache, {}, and linking is not allowed",
                          options.target, cache.enabled() ? cache.folder().string() : "which is off"),
              "fill the cache first (ptxloom tune TEMPLATE --prebuild --target T), or allow linking "
              "(LinkOptions::cached_only)");
}

std::string name_of(const cuda::NvJitLink& library) {
  return fmt::format("nvJitLink {}.{} ({})", library.major, library.minor, library.library.path());
}

/// For an nvJitLink that reads PTX up to `newest` and is asked for `wanted`, which `what` needs.
[[noreturn]] void throw_too_old(const cuda::NvJitLink& library, Version newest, Version wanted,
                                const std::string& what) {
  const ToolkitInfo* const toolkit = toolkit_for_ptx(wanted);
  const std::string release = toolkit == nullptr ? std::string() : to_string(toolkit->cuda);
  throw Error(
      ErrorKind::missing, "linker-too-old",
      fmt::format("{} reads PTX up to {}, but {}, which is of {}", name_of(library), to_string(newest), what,
                  release.empty() ? "no release of CUDA that ptxloom knows" : "CUDA " + release),
      release.empty()
          ? "write a lower .version, or install a newer nvJitLink"
          : fmt::format("install nvJitLink {0} or later (`pip install 'nvidia-nvjitlink>={0}'`) and "
                        "name its lib folder in PTXLOOM_CUDA_PATH",
                        release));
}

/// Refuses what this nvJitLink is too old for, in words that say so. One of a release that the specs do not
/// know is asked itself.
void check_release(const cuda::NvJitLink& library, const LinkOptions& options, std::string_view ptx) {
  const Version release{static_cast<int>(library.major), static_cast<int>(library.minor)};
  const ToolkitInfo* const toolkit = find_toolkit(release);
  if (toolkit == nullptr || release > toolkits().back().cuda) return;
  const auto target = std::ranges::find(targets(), options.target, &TargetInfo::name);
  if (target != targets().end() && target->since > toolkit->ptx)
    throw_too_old(library, toolkit->ptx, target->since,
                  fmt::format("{} needs PTX {}", target->name, to_string(target->since)));
  const std::optional<Version> version = jit::ptx_version_of(ptx);
  if (version && *version > toolkit->ptx)
    throw_too_old(library, toolkit->ptx, *version, "this text has .version " + to_string(*version));
}

void check_created(const LinkHandle& handle, const cuda::NvJitLink& library, const LinkOptions& options) {
  if (handle.created() == NVJITLINK_SUCCESS) return;
  const std::string log = handle.error_log();
  const std::string first = log.substr(0, log.find('\n'));
  if (handle.created() == NVJITLINK_ERROR_UNRECOGNIZED_ARCH ||
      handle.created() == NVJITLINK_ERROR_UNSUPPORTED_ARCH) {
    throw Error(ErrorKind::usage, "bad-link-option",
                fmt::format("{} does not know the target {}: {}", name_of(library), options.target, first),
                "see which targets it supports with ptxloom doctor; a newer CUDA release may know this one");
  }
  throw Error(ErrorKind::usage, "bad-link-option", fmt::format("nvJitLink refused its options: {}", first),
              "see LinkOptions::extra, and the options in nvJitLink's manual");
}

[[noreturn]] void throw_link_failed(const LinkHandle& handle, nvJitLinkResult result) {
  const std::string log = handle.error_log();
  std::vector<Diagnostic> diagnostics = {
      {.code = "link-failed",
       .message = fmt::format("nvJitLink refused this PTX (result {})", static_cast<int>(result))}};
  for (const std::string& text : {log, handle.info_log()}) {
    std::ranges::move(jit::parse_link_log(text), std::back_inserter(diagnostics));
  }
  if (diagnostics.size() == 1)
    diagnostics[0].hint = log.empty() ? "nvJitLink gave no reason: check that the text is PTX" : log;
  throw Error(ErrorKind::link_failure, std::move(diagnostics));
}

}  // namespace

Linker::Linker(Libraries libraries, Cache cache)
    : libraries_(std::move(libraries)), cache_(std::move(cache)) {}

LinkResult Linker::link(std::string_view ptx, const LinkOptions& options) const {
  check_options(options);
  if (options.cached_only) {
    if (auto result = find_by_any(cache_, libraries_, options, ptx)) return std::move(*result);
    if (!libraries_.has_nvjitlink()) throw_not_cached(cache_, options);
  }
  const cuda::NvJitLink& library = libraries_.nvjitlink();
  const std::vector<std::string> arguments = arguments_of(options, library.major);
  const std::string key = cache_.enabled() ? cache_key(library.identity, arguments, ptx) : std::string();
  if (const auto value = cache_.find(key)) {
    if (auto result = unpack(*value)) return std::move(*result);
  }
  if (options.cached_only) throw_not_cached(cache_, options);
  check_release(library, options, ptx);
  LinkHandle handle(library, arguments);
  check_created(handle, library, options);
  const nvJitLinkResult linked = handle.link(ptx);
  if (linked != NVJITLINK_SUCCESS) throw_link_failed(handle, linked);
  std::vector<std::byte> cubin = handle.cubin();
  const std::string log = handle.info_log();
  cache_.store(key, pack(cubin, log));
  remember_linker(cache_, library.identity);
  return make_result(std::move(cubin), log, false);
}

bool Linker::serves(std::string_view target) const {
  return is_target(target) &&
         LinkHandle(libraries_.nvjitlink(), {fmt::format("-arch={}", target)}).created() == NVJITLINK_SUCCESS;
}

Version Linker::version() const {
  const cuda::NvJitLink& library = libraries_.nvjitlink();
  return {.major = static_cast<int>(library.major), .minor = static_cast<int>(library.minor)};
}

}  // namespace ptxloom
