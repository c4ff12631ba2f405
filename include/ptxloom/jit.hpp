// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/libraries.hpp"
#include "ptxloom/log.hpp"
#include "ptxloom/target.hpp"

// Text becomes machine code: PTX through nvJitLink, CUDA C++ through NVRTC, neither of which needs a GPU. The
// linker's log comes back as diagnostics and as the resources of each kernel. A disk cache returns what the
// very same text, options and linker gave before.
namespace [[gnu::visibility("default")]] ptxloom {

/// A folder of results, shared by threads, processes and library versions. An entry is found by the hash of
/// its key and holds the key itself, so that a collision is a miss; a checksum guards both. Nothing here ever
/// fails: a folder that is unwritable, or that others could have written to, is left alone with one warning,
/// and a bad entry is removed and missed. Thread-safe.
class Cache {
 public:
  Cache() = default;  ///< finds nothing, stores nothing
  explicit Cache(std::filesystem::path folder, Log log = {});
  /// In PTXLOOM_CACHE_DIR ("off": no cache), else XDG_CACHE_HOME/ptxloom, else ~/.cache/ptxloom.
  static Cache from_environment(Log log = {});

  bool enabled() const { return state_ != nullptr; }
  std::filesystem::path folder() const;

  std::optional<std::vector<std::byte>> find(std::string_view key) const;
  void store(std::string_view key, std::span<const std::byte> value) const;

  struct Stat {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::int64_t oldest = 0;  ///< when written, in seconds since 1970; 0 where there is none
    std::int64_t newest = 0;
  };
  Stat stat() const;
  /// The entries that are damaged, each with what is wrong; they stay where they are.
  struct BadEntry {
    std::filesystem::path path{};
    std::string reason{};
  };
  std::vector<BadEntry> verify() const;
  /// Removes all entries, and what interrupted writers left; returns how many files went.
  std::uint64_t clear() const;
  /// Why the folder is not used ("cache-foreign", "cache-exposed", "cache-unusable"); nullopt where it is.
  std::optional<Diagnostic> problem() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct LinkOptions {
  std::string target{};  ///< "sm_90a"
  int optimisation = 3;  ///< 0 to 3
  bool debug = false;    ///< -g; turns optimisation off
  bool line_info = false;
  int max_registers = 0;  ///< a thread; 0: no limit but the kernel's own directives
  /// Links nothing, and needs no nvJitLink: takes what any that has filled the cache has made; what the cache
  /// lacks is refused, "not-cached".
  bool cached_only = false;
  std::vector<std::string> extra{};  ///< passed on as they are, such as "-Xptxas=--warn-on-spills"
};

/// What one kernel takes, as the linker reports it. Bytes, except registers and barriers.
struct Resources {
  std::string kernel{};
  int registers = 0;  ///< a thread
  int barriers = 0;
  int stack = 0;  ///< a thread
  int spill_stores = 0;
  int spill_loads = 0;
  int shared = 0;    ///< static, a block
  int constant = 0;  ///< bank 0: parameters and what the driver puts before them
};

struct LinkResult {
  std::vector<std::byte> cubin{};
  std::vector<Diagnostic> diagnostics{};  ///< warnings and advisories: "ptxas-C7510", "ptxas"
  std::vector<Resources> resources{};
  bool cached = false;
};

/// PTX text to cubin. Thread-safe.
class Linker {
 public:
  explicit Linker(Libraries libraries, Cache cache = {});

  /// Throws Error(refused, "link-failed") with the linker's errors and their lines, Error(usage,
  /// "bad-link-option"), Error(refused, "not-cached"), or Error(missing, "no-nvjitlink").
  LinkResult link(std::string_view ptx, const LinkOptions& options) const;
  /// nvJitLink's version, that of the CUDA release it came with.
  Version version() const;
  /// Does this nvJitLink know the chip of the target? Which suffixes it has, only linking tells.
  bool serves(std::string_view target) const;
  const Cache& cache() const { return cache_; }

 private:
  Libraries libraries_;
  Cache cache_;
};

struct CompileOptions {
  std::string target{};  ///< "sm_90a"
  enum class Output { ptx, cubin } output = Output::ptx;
  std::string name = "kernel.cu";               ///< what the log calls the source
  std::vector<std::string> include_folders{};   ///< before those of the toolkit
  std::vector<std::string> extra{};             ///< passed on as they are, such as "--use_fast_math"
  std::vector<std::string> name_expressions{};  ///< C++ names whose symbols are wanted: "scale<float>"
};

struct CompileResult {
  std::string ptx{};                      ///< for Output::ptx
  std::vector<std::byte> cubin{};         ///< for Output::cubin
  std::vector<std::string> symbols{};     ///< of the name expressions, in their order
  std::vector<Diagnostic> diagnostics{};  ///< warnings and remarks
};

/// CUDA C++ to PTX or cubin. It keeps no cache: what a source includes is no part of its text. Thread-safe.
class NvrtcCompiler {
 public:
  explicit NvrtcCompiler(Libraries libraries);

  /// Throws Error(refused, "compile-failed") with the compiler's errors, or Error(missing, "no-nvrtc").
  CompileResult compile(std::string_view source, const CompileOptions& options) const;
  Version version() const;
  /// Does this NVRTC know the chip of the target?
  bool serves(std::string_view target) const;

 private:
  Libraries libraries_;
};

}  // namespace ptxloom
