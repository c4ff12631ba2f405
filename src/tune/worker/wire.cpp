// SPDX-License-Identifier: Apache-2.0
#include "tune/worker/wire.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "tune/worker/plan_json.hpp"

namespace ptxloom::tune {
namespace {

using Json = nlohmann::json;

static_assert(std::is_trivially_copyable_v<Expectation::Point>);

/// A mapping of a whole file.
class Mapping {
 public:
  Mapping(int fd, std::size_t bytes, int protection) : bytes_(bytes) {
    if (bytes == 0) return;
    data_ = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
    if (data_ != MAP_FAILED) return;
    throw Error(ErrorKind::out_of_memory, "out-of-memory",
                fmt::format("cannot map {} bytes of shared memory: {}", bytes,
                            std::generic_category().message(errno)),
                "use smaller sizes");
  }
  ~Mapping() {
    if (bytes_ != 0) ::munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void write(std::size_t offset, const void* data, std::size_t bytes) const {
    if (bytes != 0) std::memcpy(static_cast<std::byte*>(data_) + offset, data, bytes);
  }
  /// Throws Error for a range outside the mapping.
  void read(std::size_t offset, void* data, std::size_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset)
      throw Error(ErrorKind::usage, "bad-task", "the task's data is outside the shared memory");
    if (bytes != 0) std::memcpy(data, static_cast<const std::byte*>(data_) + offset, bytes);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

std::size_t aligned(std::size_t offset) { return (offset + 4095) / 4096 * 4096; }

}  // namespace

SharedTask share(const Task& task) {
  Json tensors = Json::array();
  std::size_t bytes = 0;
  for (const HostTensor& tensor : task.tensors) {
    Json one = to_json(tensor.plan);
    one["offset"] = bytes;
    one["bytes"] = tensor.plan.role == TensorPlan::Role::out ? 0 : tensor.bytes.size();
    bytes = aligned(bytes + one["bytes"].get<std::size_t>());
    tensors.push_back(std::move(one));
  }
  Json expectations = Json::array();
  for (const Expectation& expected : task.expected) {
    const std::size_t untouched = aligned(bytes + expected.points.size() * sizeof(Expectation::Point));
    expectations.push_back({{"tensor", expected.tensor},
                            {"complete", expected.complete},
                            {"points", bytes},
                            {"point_count", expected.points.size()},
                            {"untouched", untouched},
                            {"untouched_count", expected.untouched.size()}});
    bytes = aligned(untouched + expected.untouched.size() * sizeof(std::uint64_t));
  }

  SharedTask shared{.memory = FileDescriptor(::memfd_create("ptxloom-task", MFD_CLOEXEC))};
  if (!shared.memory || ::ftruncate(shared.memory.get(), static_cast<off_t>(bytes)) != 0)
    throw Error(ErrorKind::out_of_memory, "out-of-memory",
                fmt::format("cannot make {} bytes of shared memory: {}", bytes,
                            std::generic_category().message(errno)),
                "use smaller sizes");
  const Mapping mapping(shared.memory.get(), bytes, PROT_READ | PROT_WRITE);
  for (std::size_t i = 0; i < task.tensors.size(); ++i)
    mapping.write(tensors[i]["offset"], task.tensors[i].bytes.data(), tensors[i]["bytes"]);
  for (std::size_t i = 0; i < task.expected.size(); ++i) {
    const auto& points = task.expected[i].points;
    const auto& untouched = task.expected[i].untouched;
    mapping.write(expectations[i]["points"], points.data(), points.size() * sizeof(Expectation::Point));
    mapping.write(expectations[i]["untouched"], untouched.data(), untouched.size() * sizeof(std::uint64_t));
  }
  shared.head = {{"bytes", bytes},
                 {"tensors", std::move(tensors)},
                 {"warm", task.warm},
                 {"product", task.product ? to_json(*task.product) : Json(nullptr)},
                 {"expected", std::move(expectations)}};
  return shared;
}

Task read_task(const Json& head, int memory) {
  const Mapping mapping(memory, head.at("bytes"), PROT_READ);
  Task task{.warm = head.at("warm")};
  if (!head.at("product").is_null()) task.product = read_product(head["product"]);
  for (const Json& one : head.at("tensors")) {
    HostTensor& tensor = task.tensors.emplace_back();
    tensor.plan = read_tensor(one);
    tensor.bytes.resize(one.at("bytes"));
    mapping.read(one.at("offset"), tensor.bytes.data(), tensor.bytes.size());
  }
  for (const Json& one : head.at("expected")) {
    Expectation& expected = task.expected.emplace_back();
    expected.tensor = one.at("tensor");
    expected.complete = one.at("complete");
    expected.points.resize(one.at("point_count"));
    mapping.read(one.at("points"), expected.points.data(),
                 expected.points.size() * sizeof(Expectation::Point));
    expected.untouched.resize(one.at("untouched_count"));
    mapping.read(one.at("untouched"), expected.untouched.data(),
                 expected.untouched.size() * sizeof(std::uint64_t));
  }
  return task;
}

namespace {

Json to_json(const std::vector<std::filesystem::path>& folders) {
  // As bytes: a path need not be UTF-8, which JSON strings are.
  Json all = Json::array();
  for (const std::filesystem::path& folder : folders)
    all.push_back(std::vector<unsigned char>(folder.native().begin(), folder.native().end()));
  return all;
}

std::vector<std::filesystem::path> read_folders(const Json& json) {
  std::vector<std::filesystem::path> folders;
  for (const Json& folder : json) {
    const auto bytes = folder.get<std::vector<unsigned char>>();
    folders.emplace_back(std::string(bytes.begin(), bytes.end()));
  }
  return folders;
}

}  // namespace

Json to_json(const Surroundings& surroundings) {
  return {{"specs", to_json(surroundings.specs)},
          {"library_folders", to_json(surroundings.libraries.folders)},
          {"system", surroundings.libraries.system}};
}

Surroundings read_surroundings(const Json& json) {
  return {.specs = read_folders(json.at("specs")),
          .libraries = {.folders = read_folders(json.at("library_folders")), .system = json.at("system")}};
}

Message to_message(const Candidate& candidate) {
  Json launches = Json::array(), scratch = Json::array();
  for (const LaunchPlan& launch : candidate.launches) launches.push_back(to_json(launch));
  for (const TensorPlan& tensor : candidate.scratch) scratch.push_back(to_json(tensor));
  Message message{.head = {{"launches", std::move(launches)}, {"scratch", std::move(scratch)}}};
  // The PTX is included only if it is what runs: a GPU takes machine code.
  if (candidate.cubin.empty())
    message.head["ptx"] = candidate.ptx;
  else
    message.body = candidate.cubin;
  return message;
}

Candidate read_candidate(const Message& message) {
  Candidate candidate{.ptx = message.head.value("ptx", ""), .cubin = message.body};
  for (const Json& launch : message.head.at("launches")) candidate.launches.push_back(read_launch(launch));
  for (const Json& tensor : message.head.at("scratch")) candidate.scratch.push_back(read_tensor(tensor));
  return candidate;
}

Json to_json(const Diagnostic& diagnostic) {
  return {{"code", diagnostic.code}, {"message", diagnostic.message}, {"hint", diagnostic.hint}};
}

Diagnostic read_diagnostic(const Json& json) {
  return {.code = json.at("code"), .message = json.at("message"), .hint = json.at("hint")};
}

Json to_json(const Resources& resources) {
  return {resources.registers, resources.stack, resources.spill_stores, resources.spill_loads,
          resources.shared};
}

Resources read_resources(const Json& json) {
  return {.registers = json.at(0),
          .stack = json.at(1),
          .spill_stores = json.at(2),
          .spill_loads = json.at(3),
          .shared = json.at(4)};
}

Json to_json(const Reading& reading) {
  Json json = {{"us", reading.us},
               {"rival_us", reading.rival_us},
               {"busy_us", reading.busy_us},
               {"restarted", reading.restarted}};
  if (reading.problem) json["problem"] = to_json(*reading.problem);
  if (!reading.library.empty()) json["library"] = reading.library;
  if (reading.health)
    json["health"] = {reading.health->clock_mhz,     reading.health->memory_clock_mhz,
                      reading.health->temperature_c, reading.health->power_w,
                      reading.health->power_capped,  reading.health->throttled};
  return json;
}

Reading read_reading(const Json& json) {
  Reading reading{.us = json.at("us"),
                  .rival_us = json.at("rival_us"),
                  .busy_us = json.at("busy_us"),
                  .restarted = json.at("restarted")};
  if (json.contains("problem")) reading.problem = read_diagnostic(json["problem"]);
  reading.library = json.value("library", "");
  if (json.contains("health")) {
    const Json& health = json["health"];
    reading.health = DeviceHealth{.clock_mhz = health.at(0),
                                  .memory_clock_mhz = health.at(1),
                                  .temperature_c = health.at(2),
                                  .power_w = health.at(3),
                                  .power_capped = health.at(4),
                                  .throttled = health.at(5)};
  }
  return reading;
}

}  // namespace ptxloom::tune
