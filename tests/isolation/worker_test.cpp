// SPDX-License-Identifier: Apache-2.0
// Candidates in a process of their own: here in the executor, so that it can be tried without a GPU. Whatever
// one does costs that one only.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <tuple>

#include "ptxloom/tune.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/faulty_candidates.hpp"
#include "support/folders.hpp"
#include "support/temporary_folder.hpp"
#include "tune/worker/process.hpp"
#include "tune/worker/wire.hpp"

namespace ptxloom::test::worker_test {
namespace {

struct Rig {
  tune::Task task = make_task(Catch::getSeed());
  std::unique_ptr<tune::Measurer> worker;

  explicit Rig(double seconds = 20)
      : worker(tune::make_worker(task, {.device = "cpu", .candidate_seconds = seconds})) {}
  tune::Reading measure(const tune::Candidate& candidate, bool verify = true) const {
    return worker->measure({.config = {}, .candidate = candidate, .verify = verify, .samples = 3});
  }
  std::string problem(const tune::Candidate& candidate) const {
    const tune::Reading reading = measure(candidate);
    return reading.problem ? reading.problem->code : "";
  }
};

}  // namespace

TEST_CASE("a worker verifies, then times") {
  const Rig rig;
  const tune::Reading reading = rig.measure(make_candidate("good"));
  INFO((reading.problem ? to_string(*reading.problem) : ""));
  CHECK(!reading.problem);
  CHECK(!reading.restarted);
  CHECK(reading.us.size() == 3);
  for (const double us : reading.us) CHECK(us > 0);
  CHECK(rig.worker->code() == tune::Measurer::Code::ptx);

  const tune::Candidate rival = make_candidate("good");
  const tune::Trial trial{.config = {}, .candidate = rival};
  rig.worker->set_rival(&trial);
  CHECK(!rig.measure(make_candidate("good")).rival_us.empty());  // one, where the machine stalls just then
}

TEST_CASE("a wrong candidate is told from a right one") {
  const Rig rig;
  CHECK(rig.problem(make_candidate("wrong")) == "wrong-result");
  CHECK(rig.problem(make_candidate("hole")) == "wrong-result");
  CHECK(rig.problem(make_candidate("spill")) == "wrong-result");
  CHECK(rig.problem(make_candidate("good")).empty());
}

TEST_CASE("a kernel that spoils its inputs is wrong itself and makes no other wrong") {
  const Rig rig;
  CHECK(rig.problem(make_candidate("spoil")) == "");  // its own result is right
  CHECK(rig.problem(make_candidate("good")) == "");
}

TEST_CASE("planted faults cost their candidate only") {
  const Rig rig(2);
  struct Fault {
    const char* name;
    const char* code;
    bool restarts;
  };
  const Fault faults[] = {{"address", "out-of-bounds", false},
                          {"trap", "trap", false},
                          {"memory", "out-of-memory", false},
                          {"syntax", "syntax", false},
                          {"loop", "time-limit", true}};
  for (const Fault& fault : faults) {
    CAPTURE(fault.name);
    const tune::Reading reading = rig.measure(make_candidate(fault.name));
    REQUIRE(reading.problem);
    CHECK(reading.problem->code == fault.code);
    CHECK(reading.restarted == fault.restarts);
    CHECK(rig.problem(make_candidate("good")).empty());
  }
}

TEST_CASE("a worker that is killed is started again, rival and all") {
  const Rig rig(60);
  const tune::Candidate rival = make_candidate("good");
  const tune::Trial trial{.config = {}, .candidate = rival};
  rig.worker->set_rival(&trial);
  CHECK(rig.problem(make_candidate("good")).empty());
  std::thread killer([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    for (const pid_t child : children_of_this_process()) ::kill(child, SIGKILL);
  });
  const tune::Reading reading = rig.measure(make_candidate("loop"));
  killer.join();
  REQUIRE(reading.problem);
  CHECK(reading.problem->code == "worker-died");
  CHECK(reading.problem->message.find("signal 9") != std::string::npos);
  CHECK(reading.restarted);
  const tune::Reading after = rig.measure(make_candidate("good"));
  CHECK(!after.problem);
  CHECK(!after.rival_us.empty());
}

TEST_CASE("workers of one device take turns at it") {
  const TemporaryFolder folder;
  const tune::Task task = make_task(Catch::getSeed());
  const auto worker = tune::make_worker(task, {.device = "cpu", .turns = folder / "turns"});
  const FileDescriptor other(::open((folder / "turns").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  std::atomic<bool> done = false;
  tune::Reading reading;
  std::thread measuring([&] {
    const tune::Candidate candidate = make_candidate("good");
    reading = worker->measure({.config = {}, .candidate = candidate});
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  CHECK(!done);
  ::flock(other.get(), LOCK_UN);
  measuring.join();
  CHECK(!reading.problem);
  CHECK(::flock(other.get(), LOCK_EX | LOCK_NB) == 0);  // given back
}

TEST_CASE("a worker outlives the thread that has started it") {
  const tune::Task task = make_task(Catch::getSeed());
  std::unique_ptr<tune::Measurer> worker;
  std::thread([&] { worker = tune::make_worker(task, {.device = "cpu"}); }).join();
  const tune::Candidate candidate = make_candidate("good");
  CHECK(!worker->measure({.config = {}, .candidate = candidate}).problem);
}

TEST_CASE("a worker ends with its tuner, whatever it is doing") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t tuner = ::fork();
  if (tuner == 0) {
    const tune::Task task = make_task(1);
    const auto worker = tune::make_worker(task, {.device = "cpu", .candidate_seconds = 60});
    const pid_t id = children_of_this_process().at(0);
    if (::write(ends[1], &id, sizeof id) != sizeof id) ::_exit(1);
    const tune::Candidate loop = make_candidate("loop");
    worker->measure({.config = {}, .candidate = loop});
    ::_exit(0);
  }
  pid_t worker = 0;
  REQUIRE(::read(ends[0], &worker, sizeof worker) == sizeof worker);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(::kill(worker, 0) == 0);
  ::kill(tuner, SIGKILL);
  ::waitpid(tuner, nullptr, 0);
  const auto runs = [&] {
    std::ifstream status("/proc/" + std::to_string(worker) + "/stat");
    std::string id, name, state;
    return status >> id >> name >> state && state != "Z";
  };
  for (int i = 0; i < 100 && runs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(!runs());
}

TEST_CASE("a search goes on through every fault, and its winner is correct") {
  tune::Space space{.parameters = {{"fault", {}}}};
  for (const char* fault :
       {"address", "good", "trap", "loop", "memory", "wrong", "hole", "spill", "syntax", "good2", "throw"})
    space.parameters[0].values.emplace_back(fault);
  const Rig rig(2);
  const auto make = [](const Settings& config) { return make_candidate(config.at("fault")); };
  const tune::SearchResult result = tune::search(tune::admit(space, Target("sm_90a")), Target("sm_90a"), make,
                                                 nullptr, *rig.worker, {.jobs = 2});
  CHECK(!result.fault);
  CHECK(result.evaluations == 11);
  REQUIRE(result.best() != nullptr);
  CHECK(result.best()->config.at("fault").starts_with("good"));
  CHECK(result.restarts.size() == 1);
  int correct = 0;
  for (const tune::Measurement& one : result.candidates) correct += one.problem ? 0 : 1;
  CHECK(correct == 2);
}

TEST_CASE("a worker reads the overlays of its tuner, and no others") {
  const TemporaryFolder folder;
  // `turn` is written like no instruction that there is, and does what brev does: twice is nothing.
  std::ofstream(folder / "overlay.json")
      << R"({"form": "count", "text": "<op>.<type> D, A;", "ops": {"D": "out <type>", "A": "in <type>"},
             "mods": {"op": "turn|brev", "type": "b32"}})";
  tune::Candidate candidate = make_candidate("good");
  const std::string place = "st.global.s32 [%rd5], %r5;";
  candidate.ptx.insert(candidate.ptx.find(place), "turn.b32 %r5, %r5;\n  turn.b32 %r5, %r5;\n  ");
  const tune::Task task = make_task(Catch::getSeed());
  const auto problem = [&](std::vector<std::filesystem::path> specs) {
    const auto worker = tune::make_worker(task, {.device = "cpu", .specs = std::move(specs)});
    const tune::Reading reading = worker->measure({.config = {}, .candidate = candidate});
    return reading.problem ? to_string(*reading.problem) : "";
  };
  // Where the environment names other folders, those are not the tuner's.
  const ScopedVariable other("PTXLOOM_SPECS", folder.path().string());
  CHECK(problem({}).find("turn") != std::string::npos);
  CHECK(problem({folder.path()}).empty());
  const Error missing = error_of([&] { problem({folder / "none"}); });
  CHECK(missing.kind() == ErrorKind::usage);
  CHECK(std::string(missing.what()).find("none") != std::string::npos);
}

TEST_CASE("a worker opens the libraries that its tuner specifies, and no others") {
  const tune::Task task = make_task(1);
  const auto code = [&](LibraryOptions libraries) {
    const Error error = error_of([&] { tune::make_worker(task, {.libraries = std::move(libraries)}); });
    return error.diagnostics().front().code;
  };
  const TemporaryFolder empty;
  CHECK(code({.folders = {empty.path()}, .system = false}) == "no-driver");
  // A driver that is there and too old is another answer: it was opened.
  const std::filesystem::path old = test::build_folder() + "/fake_old_cuda";
  if (!std::filesystem::exists(old / "libcuda.so.1")) SKIP("there is no stand-in driver");
  CHECK(code({.folders = {old}, .system = false}) == "driver-too-old");
  CHECK_NOTHROW(tune::make_worker(task, {.libraries = {.folders = {test::build_folder() + "/fake_cuda"}}}));
}

TEST_CASE("no worker leaves a process behind") {
  {
    const Rig rig;
    CHECK(children_of_this_process().size() == 1);
  }
  CHECK(children_of_this_process().empty());
}

TEST_CASE("a worker that cannot be what it should is an error that says so") {
  const tune::Task task = make_task(1);
  const auto code = [&](const std::filesystem::path& program, const std::string& device = "cpu") {
    const Error error = error_of(
        [&] { tune::make_worker(task, {.device = device, .program = program, .start_seconds = 5}); });
    return error.diagnostics().front().code;
  };
  CHECK(code("/no/such/program") == "no-worker");
  CHECK(code("/bin/true") == "worker-lost");
  CHECK(code("", "gpu:x") == "unknown-device");
  const TemporaryFolder folder;
  const std::filesystem::path babbler = folder / "babbler";
  write_script(babbler, "#!/bin/sh\necho this is no answer at all, and quite a long one >&3\nsleep 1\n");
  CHECK(code(babbler) == "worker-lost");
}

TEST_CASE("in the executor there is no vendor's library") {
  const Rig rig;
  const tune::Reading reading = rig.worker->measure_vendor(3);
  REQUIRE(reading.problem);
  CHECK(reading.problem->code == "no-vendor");
  CHECK(!reading.restarted);
  CHECK(rig.problem(make_candidate("good")).empty());
}

TEST_CASE("tasks and candidates survive the way into another process") {
  tune::Task task = make_task(7);
  task.warm = true;
  task.expected.at(0).untouched = {3, 1, 4};
  task.product = MatrixProduct{.m = 1,
                               .n = 2,
                               .k = 3,
                               .a = bf16,
                               .b = f16,
                               .d = f32,
                               .a_rows = false,
                               .b_rows = true,
                               .lda = 4,
                               .ldb = 5,
                               .ldc = 6,
                               .ldd = 7,
                               .batch = 8,
                               .stride_a = 9,
                               .stride_b = 10,
                               .stride_c = 11,
                               .stride_d = 12,
                               .alpha = 0.5,
                               .beta = -2,
                               .fast_sums = true};
  const tune::SharedTask shared = tune::share(task);
  const tune::Task back = tune::read_task(shared.head, shared.memory.get());
  CHECK(back.warm);
  REQUIRE(back.product);
  const MatrixProduct& product = *back.product;
  using Sizes = std::array<std::uint64_t, 7>;
  CHECK(Sizes{product.m, product.n, product.k, product.lda, product.ldb, product.ldc, product.ldd} ==
        Sizes{1, 2, 3, 4, 5, 6, 7});
  CHECK(std::array{product.batch, product.stride_a, product.stride_b, product.stride_c, product.stride_d} ==
        std::array<std::uint64_t, 5>{8, 9, 10, 11, 12});
  CHECK(std::tuple(product.a, product.b, product.c, product.d) == std::tuple(bf16, f16, Type(), f32));
  CHECK(std::tuple(product.a_rows, product.b_rows, product.alpha, product.beta) ==
        std::tuple(false, true, 0.5, -2.0));
  CHECK(product.fast_sums);
  REQUIRE(back.tensors.size() == task.tensors.size());
  CHECK(back.tensors[0].bytes == task.tensors[0].bytes);
  CHECK(back.tensors[1].plan.shape == task.tensors[1].plan.shape);
  REQUIRE(back.expected.size() == 1);
  CHECK(back.expected[0].untouched == task.expected[0].untouched);
  REQUIRE(back.expected[0].points.size() == task.expected[0].points.size());
  CHECK(back.expected[0].points.back().value == task.expected[0].points.back().value);

  tune::Candidate candidate = make_candidate("memory");
  candidate.launches[0].cluster = {2, 1, 1};
  candidate.launches[0].blocks_per_sm = 3;
  candidate.launches[0].cooperative = true;
  candidate.launches[0].arguments[2].map = TensorMap{.type = bf16, .rank = 2, .dims = {72, 9}};
  const tune::Candidate copy = tune::read_candidate(tune::to_message(candidate));
  CHECK(copy.ptx == candidate.ptx);
  CHECK(copy.launches[0].cluster == candidate.launches[0].cluster);
  CHECK(copy.launches[0].blocks_per_sm == 3);
  CHECK(copy.launches[0].cooperative);
  CHECK(copy.launches[0].arguments[2].tensor == "y");
  REQUIRE(copy.launches[0].arguments[2].map);
  CHECK(copy.launches[0].arguments[2].map->dims[0] == 72);
  CHECK(!copy.launches[0].arguments[1].map);
  CHECK(copy.scratch[0].shape == candidate.scratch[0].shape);
  candidate.cubin = {std::byte{1}, std::byte{2}};
  CHECK(tune::read_candidate(tune::to_message(candidate)).cubin == candidate.cubin);

  // A file name is bytes: this one is no UTF-8, and has what JSON would escape.
  const tune::Surroundings given{.specs = {"/a/\xff\"\n", "/b"},
                                 .libraries = {.folders = {"", "/opt/\xc3\xbc"}, .system = false}};
  const tune::Surroundings got = tune::read_surroundings(nlohmann::json::parse(to_json(given).dump()));
  CHECK(got.specs == given.specs);
  CHECK(got.libraries.folders == given.libraries.folders);
  CHECK(!got.libraries.system);
}

}  // namespace ptxloom::test::worker_test
