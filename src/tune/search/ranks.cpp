// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/ranks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "ptxloom/error.hpp"
#include "ptxloom/version.hpp"
#include "tune/worker/process.hpp"

namespace ptxloom::tune {
namespace {

constexpr const char* kModule = "ptxloom-mpi.so";

/// How many processes the launcher started; 1 without a launcher. Each kind of launcher reports it
/// differently.
int launched() {
  const char* slurm = std::getenv("PMIX_RANK") != nullptr ? std::getenv("SLURM_STEP_NUM_TASKS") : nullptr;
  const char *open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE"), *pmi = std::getenv("PMI_SIZE");
  for (const char* text : {open_mpi, pmi, slurm}) {
    if (text != nullptr) return std::atoi(text);
  }
  return 1;
}

[[noreturn]] void no_mpi(const std::string& why) {
  throw Error(ErrorKind::missing, "no-mpi",
              fmt::format("mpirun has started {} processes, which cannot communicate: {}", launched(), why),
              "build ptxloom with this MPI installed (Debian: apt-get install libopenmpi-dev), or start it "
              "without mpirun");
}

}  // namespace

std::unique_ptr<Ranks> mpi_ranks() {
  if (launched() < 2) return nullptr;
  const auto path = find_beside(kModule);
  if (!path) no_mpi(fmt::format("there is no libexec/{}", kModule));
  // MPI loads modules that must see its symbols. It is never closed, because MPI does not support that.
  void* module = ::dlopen(path->c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) no_mpi(::dlerror());
  const auto version = reinterpret_cast<const char* (*)()>(::dlsym(module, "ptxloom_mpi_version"));
  const auto make = reinterpret_cast<Ranks* (*)()>(::dlsym(module, "ptxloom_mpi_ranks"));
  if (version == nullptr || make == nullptr || std::string_view(version()) != PTXLOOM_VERSION)
    no_mpi(fmt::format("{} has another version", path->string()));
  return std::unique_ptr<Ranks>(make());
}

std::string of_rank_0(Ranks& ranks, std::string text) {
  if (ranks.rank() == 0) {
    for (int rank = 1; rank < ranks.size(); ++rank) ranks.send(rank, text);
    return text;
  }
  for (;;) {
    if (auto received = ranks.receive(1)) return std::move(received->message);
  }
}

}  // namespace ptxloom::tune
