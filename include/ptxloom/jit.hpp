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

/// \file
/// From text to machine code: PTX through nvJitLink, CUDA C++ through NVRTC. Neither needs a GPU. The
/// linker's log is returned as diagnostics and as the resources of each kernel. A disk cache returns the
/// result of the same text, options and linker.
namespace [[gnu::visibility("default")]] ptxloom {

/// A folder of results that threads, processes and library versions share. An entry is found by the hash of
/// its key and holds the key itself, so that a collision is a miss; a checksum guards both. Nothing throws: a
/// folder that cannot be written to, or that other users can write to, is not used, with one warning, and a
/// bad entry is removed and counts as a miss. Thread-safe. A copy is the same cache.
class Cache {
 public:
  Cache() = default;  ///< finds nothing, stores nothing
  /// A cache in this folder, which is created when it is needed.
  explicit Cache(std::filesystem::path folder, Log log = {});
  /// In PTXLOOM_CACHE_DIR ("off": no cache), else XDG_CACHE_HOME/ptxloom, else ~/.cache/ptxloom.
  static Cache from_environment(Log log = {});

  bool enabled() const { return state_ != nullptr; }  ///< whether it has a folder
  std::filesystem::path folder() const;               ///< empty if it has none

  /// The value of a key; nullopt: a miss.
  std::optional<std::vector<std::byte>> find(std::string_view key) const;
  /// Writes an entry, unless the folder cannot be used.
  void store(std::string_view key, std::span<const std::byte> value) const;

  /// What the folder holds.
  struct Stat {
    std::uint64_t entries = 0;  ///< number of entries
    std::uint64_t bytes = 0;    ///< their size on disk
    std::int64_t oldest = 0;    ///< when the oldest was written, in seconds since 1970; 0 if there is none
    std::int64_t newest = 0;    ///< when the newest was written
  };
  Stat stat() const;  ///< counts the entries
  /// A damaged entry.
  struct BadEntry {
    std::filesystem::path path{};  ///< its file
    std::string reason{};          ///< what is wrong
  };
  /// Reads all entries and returns the damaged ones, which it leaves where they are.
  std::vector<BadEntry> verify() const;
  /// Removes all entries, and what interrupted writers have left. Returns the number of files removed.
  std::uint64_t clear() const;
  /// Why the folder is not used ("cache-foreign", "cache-exposed", "cache-unusable"); nullopt if it is.
  std::optional<Diagnostic> problem() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Options of the linker.
struct LinkOptions {
  std::string target{};    ///< "sm_90a"
  int optimisation = 3;    ///< -O0 to -O3
  bool debug = false;      ///< -g; turns optimisation off
  bool line_info = false;  ///< -lineinfo: source lines for profilers
  int max_registers = 0;   ///< per thread; 0: only the kernel's own directives limit them
  /// Returns only what the cache has, of any version of nvJitLink, and needs none. For anything else
  /// Error(refused, "not-cached").
  bool cached_only = false;
  std::vector<std::string> extra{};  ///< options that are passed on as they are: "-Xptxas=--warn-on-spills"
};

/// Resources of one kernel, as the linker reports them.
struct Resources {
  std::string kernel{};  ///< its name
  int registers = 0;     ///< per thread
  int barriers = 0;      ///< named barriers
  int stack = 0;         ///< bytes of stack per thread
  int spill_stores = 0;  ///< bytes
  int spill_loads = 0;   ///< bytes
  int shared = 0;        ///< bytes of static shared memory per thread block
  int constant = 0;      ///< bytes of constant bank 0: the parameters, and what the driver puts before them
};

/// What linking returns.
struct LinkResult {
  std::vector<std::byte> cubin{};         ///< machine code
  std::vector<Diagnostic> diagnostics{};  ///< warnings and advisories: "ptxas-C7510", "ptxas"
  std::vector<Resources> resources{};     ///< of each kernel
  bool cached = false;                    ///< whether it came from the cache
};

/// Links PTX to a cubin with nvJitLink. Thread-safe.
class Linker {
 public:
  /// nvJitLink is opened at the first use.
  explicit Linker(Libraries libraries, Cache cache = {});

  /// Links PTX text, unless the cache has the result. Throws Error(link_failure, "link-failed") with the
  /// linker's errors and their lines, Error(usage, "bad-link-option"), Error(refused, "not-cached"),
  /// Error(missing, "no-nvjitlink"), or Error(missing, "linker-too-old") where the target or the text's
  /// .version is of a later release of CUDA than nvJitLink.
  LinkResult link(std::string_view ptx, const LinkOptions& options) const;
  /// The version of nvJitLink, which is that of its CUDA release. Throws Error(missing, "no-nvjitlink").
  Version version() const;
  /// Whether this nvJitLink knows the chip of a target. Only linking shows whether it knows the suffix.
  /// Throws as version().
  bool serves(std::string_view target) const;
  const Cache& cache() const { return cache_; }  ///< the cache that it uses

 private:
  Libraries libraries_;
  Cache cache_;
};

/// Options of the compiler.
struct CompileOptions {
  std::string target{};  ///< "sm_90a"
  /// What is made.
  enum class Output {
    ptx,                                        ///< PTX text
    cubin                                       ///< machine code
  } output = Output::ptx;                       ///< what is made
  std::string name = "kernel.cu";               ///< the source's name in messages
  std::vector<std::string> include_folders{};   ///< searched before those of the toolkit
  std::vector<std::string> extra{};             ///< options that are passed on as they are: "--use_fast_math"
  std::vector<std::string> name_expressions{};  ///< C++ names whose symbols are returned: "scale<float>"
};

/// What compiling returns.
struct CompileResult {
  std::string ptx{};                      ///< with Output::ptx
  std::vector<std::byte> cubin{};         ///< with Output::cubin
  std::vector<std::string> symbols{};     ///< symbols of the name expressions, in their order
  std::vector<Diagnostic> diagnostics{};  ///< warnings and remarks
};

/// Compiles CUDA C++ with NVRTC. There is no cache, since the text of a source does not contain what it
/// includes. Thread-safe.
class NvrtcCompiler {
 public:
  /// NVRTC is opened at the first use.
  explicit NvrtcCompiler(Libraries libraries);

  /// Compiles a source. Throws Error(link_failure, "compile-failed") with the compiler's errors, Error(usage,
  /// "bad-compile-option") or Error(missing, "no-nvrtc").
  CompileResult compile(std::string_view source, const CompileOptions& options) const;
  /// The version of NVRTC. Throws Error(missing, "no-nvrtc").
  Version version() const;
  /// Whether this NVRTC knows the chip of a target. Throws as version().
  bool serves(std::string_view target) const;

 private:
  Libraries libraries_;
};

}  // namespace ptxloom
