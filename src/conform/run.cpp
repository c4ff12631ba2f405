// SPDX-License-Identifier: Apache-2.0
#include "conform/run.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <span>

#include "conform/inputs.hpp"
#include "conform/tensors.hpp"
#include "ptxloom/plan.hpp"

namespace ptxloom::conform_kernels {
namespace {

KernelSignature signature(const std::string& name, const Given& given) {
  KernelSignature made{.name = name, .parameters = {}};
  for (const char* parameter : {"in", "out", "slots", "tiles", "maps"})
    made.append({.name = parameter, .type = u64, .pointer = true});
  if (!given.data.empty()) made.append({.name = "data", .type = b8, .count = kDataBytes, .alignment = 16});
  return made;
}

/// The addresses, and the data if the kernel takes them.
Arguments arguments(const KernelSignature& taken, const std::array<std::uint64_t, 5>& addresses,
                    const Given& given) {
  std::vector<Argument> values;
  for (const std::uint64_t address : addresses) values.push_back(Argument::pointer(address));
  if (!given.data.empty()) values.push_back(Argument::bytes(given.data));
  return {taken, values};
}

std::vector<std::byte> random_data(const Subject& subject, std::uint64_t seed) {
  std::vector<std::byte> bytes(subject.around.data ? kDataBytes : 0);
  std::mt19937_64 random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Poisoned room for what the threads leave behind; separate shared memory if the slots include global
/// memory.
Outcome room_for(const Subject& subject, const Given& given) {
  const bool apart = subject.around.global && subject.around.shared;
  return {
      .records = std::vector<std::byte>(given.threads * static_cast<std::size_t>(subject.out.bytes), kPoison),
      .slots = given.slots,
      .tiles = std::vector<std::byte>(apart ? given.slots.size() : 0, kPoison)};
}

std::array<std::uint32_t, 3> grid_of(const Subject& subject, const Given& given) {
  const auto [y, z] = subject.around.shape.grid;
  return {static_cast<std::uint32_t>(given.threads / kBlockThreads / y / z), y, z};
}

}  // namespace

Given given_to(const Subject& subject, std::size_t threads, std::uint64_t seed) {
  Given given{.threads = threads,
              .in = inputs(subject, threads, seed),
              .slots = slots(subject, threads, seed),
              .data = random_data(subject, seed),
              .maps = tensor_maps(subject, threads / kWarpThreads, seed)};
  if (!given.maps.empty()) align_starts(subject, given.maps, given.in);
  return given;
}

Outcome run_executor(const exec::Program& program, const std::string& entry, const Subject& subject,
                     Given given, bool judge) {
  Outcome left = room_for(subject, given);
  exec::Memory memory;
  const auto mapped = [&](std::vector<std::byte>& bytes, const char* name) {
    return bytes.empty() ? 0 : memory.map(bytes.data(), bytes.size(), name);
  };
  const std::uint64_t slots = mapped(left.slots, "slots"),
                      tiles = left.tiles.empty() ? slots : mapped(left.tiles, "tiles");
  std::vector<std::byte> maps = encode_maps(subject, given.maps, slots, encode_for_executor);
  const Arguments passed = arguments(
      signature(entry, given),
      {mapped(given.in, "in"), mapped(left.records, "out"), slots, tiles, mapped(maps, "maps")}, given);
  program.run(memory, {.grid = grid_of(subject, given),
                       .block = subject.around.shape.block,
                       .parameters = passed.bytes(),
                       .jobs = 1,
                       .judge = judge});
  return left;
}

Outcome run_device(const DeviceContext& device, const DeviceModule& module, const std::string& entry,
                   const Subject& subject, const Given& given) {
  const Function function = module.function(signature(entry, given));
  Outcome left = room_for(subject, given);
  const auto memory = [&](std::span<const std::byte> bytes) {
    DeviceMemory made(device, std::max<std::size_t>(bytes.size(), 16));
    if (!bytes.empty()) made.upload(bytes);
    return made;
  };
  const DeviceMemory in = memory(given.in), out = memory(left.records), slots = memory(left.slots),
                     tiles = left.tiles.empty() ? slots : memory(left.tiles),
                     maps = memory(encode_maps(subject, given.maps, slots.address(),
                                               [&](const TensorMap& map) { return encode(device, map); }));
  const Stream stream(device);
  const auto [x, y, z] = grid_of(subject, given);
  const auto [bx, by, bz] = subject.around.shape.block;
  function.launch(
      stream, {.grid = {x, y, z}, .block = {bx, by, bz}},
      arguments(function.signature(),
                {in.address(), out.address(), slots.address(), tiles.address(), maps.address()}, given));
  stream.synchronize();
  if (!left.records.empty()) out.download(left.records);
  if (!left.slots.empty()) slots.download(left.slots);
  if (!left.tiles.empty()) tiles.download(left.tiles);
  return left;
}

}  // namespace ptxloom::conform_kernels
