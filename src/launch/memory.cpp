// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "launch/context.hpp"

namespace ptxloom {

struct DeviceMemory::State {
  std::shared_ptr<DeviceContext::State> context;
  std::uint64_t size = 0;
  CUdeviceptr address = 0;

  State(std::shared_ptr<DeviceContext::State> owner, std::uint64_t bytes)
      : context(std::move(owner)), size(bytes) {
    if (size == 0) return;
    const auto current = context->make_current();
    const cuda::DuringCapture allowed(context->driver);
    context->check(context->driver.cuMemAlloc(&address, size), fmt::format("{} bytes", size));
  }
  ~State() try {
    if (address == 0) return;
    const auto current = context->make_current();
    const cuda::DuringCapture allowed(context->driver);
    context->driver.cuMemFree(address);
  } catch (const Error&) {
    // The context is gone, and the memory with it.
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  CUdeviceptr range(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset <= size && bytes <= size - offset) return address + offset;
    throw Error(ErrorKind::usage, "out-of-range",
                fmt::format("bytes {} to {} are outside the device memory, which has {} bytes", offset,
                            offset + bytes, size));
  }
};

DeviceMemory::DeviceMemory(const DeviceContext& context, std::uint64_t bytes)
    : state_(std::make_shared<State>(context.state(), bytes)) {}

std::uint64_t DeviceMemory::address() const { return state_ ? state_->address : 0; }
std::uint64_t DeviceMemory::size() const { return state_ ? state_->size : 0; }

void DeviceMemory::upload(std::span<const std::byte> data, std::uint64_t offset) const {
  if (data.empty()) return;
  if (!state_) throw Error(ErrorKind::usage, "out-of-range", "the destination has no device memory");
  const CUdeviceptr to = state_->range(offset, data.size());
  const DeviceContext::State& context = *state_->context;
  const auto current = context.make_current();
  context.check(context.driver.cuMemcpyHtoD(to, data.data(), data.size()), "copying to the device");
  // The driver may return while the data are in a staging buffer, which streams of other libraries do not
  // wait for.
  context.check(context.driver.cuStreamSynchronize(nullptr), "copying to the device");
}

void DeviceMemory::download(std::span<std::byte> data, std::uint64_t offset) const {
  if (data.empty()) return;
  if (!state_) throw Error(ErrorKind::usage, "out-of-range", "the source has no device memory");
  const CUdeviceptr from = state_->range(offset, data.size());
  const DeviceContext::State& context = *state_->context;
  const auto current = context.make_current();
  context.check(context.driver.cuMemcpyDtoH(data.data(), from, data.size()), "copying from the device");
}

namespace {

void fill_range(const DeviceContext::State& context, std::uint64_t address, std::uint64_t bytes,
                std::byte value, CUstream_st* stream) {
  const auto current = context.make_current();
  const auto byte = std::to_integer<unsigned char>(value);
  context.check(context.driver.cuMemsetD8Async(address, byte, bytes, stream), "filling device memory");
}

}  // namespace

void DeviceMemory::fill(std::byte value) const {
  fill(value, nullptr);
  if (!state_) return;
  const auto current = state_->context->make_current();
  state_->context->check(state_->context->driver.cuStreamSynchronize(nullptr), "filling device memory");
}

void DeviceMemory::fill(std::byte value, CUstream_st* stream) const {
  if (size() != 0) fill_range(*state_->context, address(), size(), value, stream);
}

void fill_memory(const DeviceContext& context, std::uint64_t address, std::uint64_t bytes, std::byte value,
                 CUstream_st* stream) {
  if (bytes != 0) fill_range(*context.state(), address, bytes, value, stream);
}

void DeviceMemory::copy_from(const DeviceMemory& source, CUstream_st* stream) const {
  if (source.size() != size()) {
    throw Error(ErrorKind::usage, "out-of-range",
                fmt::format("cannot copy {} bytes of device memory to {} bytes", source.size(), size()));
  }
  if (size() == 0) return;
  const DeviceContext::State& context = *state_->context;
  const auto current = context.make_current();
  context.check(context.driver.cuMemcpyDtoDAsync(address(), source.address(), size(), stream),
                "copying on the device");
}

}  // namespace ptxloom
