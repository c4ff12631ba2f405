// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

// Several processes, on one host or many, that tune one problem together. Rank 0 searches and hands out
// configurations, the others try them; messages between them are all it takes. mpi_ranks() brings them from
// MPI; whatever else can carry messages will do.
namespace [[gnu::visibility("default")]] ptxloom {
namespace tune {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  ///< among those of this host
  virtual int local_size() const = 0;
  /// Any bytes. Does not wait for the receiver. Messages of one rank to another arrive in their order.
  virtual void send(int to, std::string message) = 0;
  struct Received {
    int from = 0;
    std::string message;
  };
  /// The next message of anyone, waiting for `seconds`; nullopt where none came.
  virtual std::optional<Received> receive(double seconds) = 0;
  /// Ends all ranks, this one included: for where one cannot go on and the others would wait for it.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// Those that mpirun or srun has started together with this process, through libexec/ptxloom-mpi.so, which is
/// there where ptxloom was built with MPI; null for a process that was started alone. To be used by the
/// thread that calls this, and to be destroyed before the end of main. Throws Error(missing, "no-mpi") where
/// there are others that cannot be reached.
std::unique_ptr<Ranks> mpi_ranks();

/// What rank 0 says, on all ranks, each of which must call this: for what they must agree on before they
/// tune, as on a seed.
std::string of_rank_0(Ranks& ranks, std::string text);

}  // namespace tune
}  // namespace ptxloom
