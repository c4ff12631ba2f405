// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <list>
#include <thread>
#include <utility>

#include "ptxloom/ranks.hpp"
#include "ptxloom/version.hpp"

namespace ptxloom::tune {
namespace {

/// Errors need no handling here: MPI ends all ranks with a message by default.
class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    int there = 0;
    MPI_Initialized(&there);
    if (there == 0) {
      int provided = 0;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
      started_ = true;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &world_);  // so that foreign messages are not mistaken for ours
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local_rank_);
    MPI_Comm_size(host, &local_size_);
    MPI_Comm_free(&host);
  }

  /// All ranks end together: messages still in flight to a rank that has finished are received and dropped.
  ~MpiRanks() override {
    MPI_Request all_here = MPI_REQUEST_NULL;
    int done = 0;
    while (!sending_.empty()) receive(1e-3);
    for (MPI_Ibarrier(world_, &all_here); done == 0; MPI_Test(&all_here, &done, MPI_STATUS_IGNORE))
      receive(1e-3);
    MPI_Comm_free(&world_);
    if (started_) MPI_Finalize();
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  void send(int to, std::string message) override {
    Sending& sending = sending_.emplace_back(std::move(message));
    MPI_Isend(sending.message.data(), static_cast<int>(sending.message.size()), MPI_BYTE, to, 0, world_,
              &sending.request);
  }

  std::optional<Received> receive(double seconds) override {
    using Clock = std::chrono::steady_clock;
    const auto until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    for (;;) {
      forget_sent();
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, 0, world_, &there, &status);
      if (there != 0) {
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        Received received{.from = status.MPI_SOURCE,
                          .message = std::string(static_cast<std::size_t>(bytes), '\0')};
        MPI_Recv(received.message.data(), bytes, MPI_BYTE, received.from, 0, world_, MPI_STATUS_IGNORE);
        return received;
      }
      if (Clock::now() >= until) return std::nullopt;
      // MPI's blocking wait would keep a core busy, which linking needs.
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();
  }

 private:
  struct Sending {
    explicit Sending(std::string text) : message(std::move(text)) {}
    std::string message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void forget_sent() {
    for (auto one = sending_.begin(); one != sending_.end();) {
      int done = 0;
      MPI_Test(&one->request, &done, MPI_STATUS_IGNORE);
      one = done != 0 ? sending_.erase(one) : std::next(one);
    }
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  bool started_ = false;
  std::list<Sending> sending_;
};

}  // namespace
}  // namespace ptxloom::tune

// tune::mpi_ranks() looks this symbol up.
extern "C" [[gnu::visibility("default")]] const char* ptxloom_mpi_version() { return PTXLOOM_VERSION; }
extern "C" [[gnu::visibility("default")]] ptxloom::tune::Ranks* ptxloom_mpi_ranks() {
  return new ptxloom::tune::MpiRanks();
}
