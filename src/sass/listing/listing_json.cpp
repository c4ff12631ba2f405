// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sass/listing/listing.hpp"

namespace ptxloom::sass {
namespace {

using Json = nlohmann::ordered_json;

/// null where nothing is required.
Json extent_json(const std::array<int, 3>& extent) { return extent[0] == 0 ? Json() : Json(extent); }

Json optional_json(std::optional<unsigned> number) { return number ? Json(*number) : Json(); }

Json bits_json(unsigned bits) {
  Json numbers = Json::array();
  for (unsigned i = 0; bits >> i != 0; ++i)
    if ((bits >> i & 1U) != 0) numbers.push_back(i);
  return numbers;
}

Json guard_json(const Decoded& decoded) {
  if (decoded.guard.number == 7 && !decoded.negated) return nullptr;
  return (decoded.negated ? "!" : "") +
         (decoded.guard.number == 7 ? std::string(decoded.guard.kind) + "T" : to_string(decoded.guard));
}

Json instruction_json(const ListedInstruction& one) {
  Json registers = Json::array();
  for (const Register& value : one.decoded.registers) registers.push_back(to_string(value));
  Json json = {{"offset", one.offset},
               {"encoding", fmt::format("{:016x}{:016x}", one.word.high, one.word.low)},
               {"control", to_string(one.control)},
               {"reuse", bits_json(one.control.reuse)},
               {"wait", bits_json(one.control.wait)},
               {"read", optional_json(one.control.read)},
               {"write", optional_json(one.control.write)},
               {"yield", one.control.yield},
               {"stall", one.control.stall},
               {"text", one.text},
               {"opcode", one.decoded.opcode},
               {"guard", guard_json(one.decoded)},
               {"registers", std::move(registers)},
               {"label", one.label},
               {"ptx_line", one.ptx_line == 0 ? Json() : Json(one.ptx_line)},
               {"source", nullptr}};
  if (one.source_line > 0) json["source"] = {{"file", one.source}, {"line", one.source_line}};
  return json;
}

Json function_json(const ListedFunction& function) {
  const CubinFunction& facts = function.facts;
  Json parameters = Json::array(), labels = Json::array(), instructions = Json::array();
  for (const CubinParameter& parameter : facts.parameters)
    parameters.push_back({{"offset", parameter.offset}, {"bytes", parameter.size}});
  for (const CodeLabel& label : facts.labels)
    labels.push_back({{"offset", label.offset}, {"name", label.name}});
  for (const ListedInstruction& one : function.instructions) instructions.push_back(instruction_json(one));
  return {{"name", facts.name},
          {"kernel", facts.kernel},
          {"registers", facts.registers},
          {"max_registers", facts.max_registers == 0 ? Json() : Json(facts.max_registers)},
          {"shared_bytes", facts.shared},
          {"local_bytes", std::max(facts.stack, facts.frame)},
          {"barriers", facts.barriers},
          {"parameter_bytes", facts.parameter_bytes},
          {"parameters", std::move(parameters)},
          {"block", extent_json(facts.block)},
          {"max_block", extent_json(facts.max_block)},
          {"cluster", extent_json(facts.cluster)},
          {"labels", std::move(labels)},
          {"instructions", std::move(instructions)}};
}

}  // namespace

std::string listing_json(const Listing& listing) {
  Json functions = Json::array();
  for (const ListedFunction& function : listing.functions) functions.push_back(function_json(function));
  const Json json = {{"schema", 1},
                     {"file", listing.file},
                     {"target", listing.target},
                     {"relocatable", listing.relocatable},
                     {"nvdisasm", listing.nvdisasm.empty() ? Json() : Json(listing.nvdisasm)},
                     {"ptx", listing.ptx},
                     {"functions", std::move(functions)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ptxloom::sass
