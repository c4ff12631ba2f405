// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

/// \file
/// Several processes, on one or more hosts, that tune one problem together. Rank 0 searches and distributes
/// configurations, and the others measure them. They exchange messages only: mpi_ranks() does it with MPI,
/// and a program may implement Ranks with anything else.
namespace [[gnu::visibility("default")]] ptxloom {
/// The tuner's parts, which know neither templates nor devices.
namespace tune {

/// The processes, as one of them sees them. Used by one thread at a time.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;        ///< the number of this process, from 0
  virtual int size() const = 0;        ///< number of processes
  virtual int local_rank() const = 0;  ///< the number of this process on its host
  virtual int local_size() const = 0;  ///< number of processes on this host
  /// Sends bytes to a rank without waiting for it to receive them. Messages of one rank to another arrive in
  /// order.
  virtual void send(int to, std::string message) = 0;
  /// A message.
  struct Received {
    int from = 0;         ///< the sender's rank
    std::string message;  ///< the bytes
  };
  /// The next message of any rank. Waits for it up to `seconds`; nullopt if there was none.
  virtual std::optional<Received> receive(double seconds) = 0;
  /// Ends all ranks, this one included, because it cannot go on and the others would wait for it.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// The processes that mpirun or srun has started together with this one; null if it was started alone. It
/// needs libexec/ptxloom-mpi.so, which is there if ptxloom was built with MPI. Only the thread that calls
/// this may use the result, which must be destroyed before main ends. Throws Error(missing, "no-mpi") if
/// there are other processes but no MPI.
std::unique_ptr<Ranks> mpi_ranks();

/// The text that rank 0 gives, on all ranks. Each rank must call it. Ranks agree in this way on what must be
/// equal before they tune, such as a seed.
std::string of_rank_0(Ranks& ranks, std::string text);

}  // namespace tune
}  // namespace ptxloom
