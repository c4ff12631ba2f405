// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: there is no device, so nothing that lives on one can be made, and requests for one
// report why.
#include "ptxloom/launch.hpp"

#include "launch/current.hpp"

namespace ptxloom {
namespace {

[[noreturn]] void throw_absence() {
  Libraries().driver();
  throw Error(ErrorKind::missing, "no-device", "there is no device");
}

}  // namespace

std::vector<DeviceInfo> devices(const Libraries&) { throw_absence(); }

DeviceContext::DeviceContext(Libraries, int) { throw_absence(); }
const DeviceInfo& DeviceContext::info() const { throw_absence(); }
const Libraries& DeviceContext::libraries() const { throw_absence(); }
std::optional<DeviceHealth> DeviceContext::health() const { return std::nullopt; }
void DeviceContext::synchronize() const { throw_absence(); }
void DeviceContext::synchronize(CUstream_st*) const { throw_absence(); }
bool DeviceContext::is_capturing(CUstream_st*) const { throw_absence(); }
std::uint64_t DeviceContext::stream_id(CUstream_st*) const { throw_absence(); }
std::pair<std::uint64_t, std::uint64_t> DeviceContext::memory() const { throw_absence(); }

void with_current(const DeviceContext&, const std::function<void()>&) { throw_absence(); }

DeviceMemory::DeviceMemory(const DeviceContext&, std::uint64_t) { throw_absence(); }
std::uint64_t DeviceMemory::address() const { return 0; }
std::uint64_t DeviceMemory::size() const { return 0; }
void DeviceMemory::upload(std::span<const std::byte>, std::uint64_t) const { throw_absence(); }
void DeviceMemory::download(std::span<std::byte>, std::uint64_t) const { throw_absence(); }
void DeviceMemory::fill(std::byte) const { throw_absence(); }
void DeviceMemory::fill(std::byte, CUstream_st*) const { throw_absence(); }
void fill_memory(const DeviceContext&, std::uint64_t, std::uint64_t, std::byte, CUstream_st*) {
  throw_absence();
}
void DeviceMemory::copy_from(const DeviceMemory&, CUstream_st*) const { throw_absence(); }

EncodedTensorMap encode(const DeviceContext&, const TensorMap&) { throw_absence(); }

Stream::Stream(const DeviceContext&) { throw_absence(); }
Stream::operator CUstream_st*() const { throw_absence(); }
void Stream::synchronize() const { throw_absence(); }

Event::Event(const DeviceContext&) { throw_absence(); }
void Event::record(CUstream_st*) const { throw_absence(); }
void Event::synchronize() const { throw_absence(); }
void Event::wait_in(CUstream_st*) const { throw_absence(); }
float Event::elapsed_ms(const Event&) const { throw_absence(); }

Graph::Graph(const DeviceContext&, const std::function<void(CUstream_st*)>&) { throw_absence(); }
void Graph::launch(CUstream_st*) const { throw_absence(); }

const KernelSignature& Function::signature() const { throw_absence(); }
const FunctionInfo& Function::info() const { throw_absence(); }
void Function::launch(CUstream_st*, const LaunchConfig&, const Arguments&) const { throw_absence(); }
ConfiguredFunction::ConfiguredFunction(Function, const LaunchConfig&) { throw_absence(); }
const KernelSignature& ConfiguredFunction::signature() const { throw_absence(); }
void ConfiguredFunction::launch(CUstream_st*, std::span<const std::byte>) const { throw_absence(); }
int Function::blocks_per_sm(const LaunchConfig&) const { throw_absence(); }
int Function::active_clusters(const LaunchConfig&) const { throw_absence(); }

DeviceModule::DeviceModule(const DeviceContext&, std::span<const std::byte>) { throw_absence(); }
Function DeviceModule::function(KernelSignature) const { throw_absence(); }
Function DeviceModule::function(std::string_view) const { throw_absence(); }
void DeviceModule::write_variable(std::string_view, std::span<const std::byte>) const { throw_absence(); }

}  // namespace ptxloom
