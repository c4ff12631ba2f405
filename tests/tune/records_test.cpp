// SPDX-License-Identifier: Apache-2.0
// What records say and how they are found, merged and refused.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "ptxloom/record.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"
#include "tune/sample_record.hpp"

namespace ptxloom::record_test {

TEST_CASE("a record survives the way to JSON and back") {
  const Record before = record("5", 12.25);
  const Record after = record_from_json(to_json(before));
  CHECK(to_json(after) == to_json(before));
  CHECK(after.device == before.device);
  CHECK(after.problem == before.problem);
  CHECK(after.resources->registers == 40);
  CHECK(to_json(before).find('\n') == std::string::npos);
}

TEST_CASE("what is kept is found by device, template and problem") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  CHECK(!records.find(kDevice, "gemm", {{"m", "5"}, {"n", "8"}}));
  records.add(record("5", 12));
  records.add(record("6", 3));
  CHECK(records.find(kDevice, "gemm", {{"m", "5"}, {"n", "8"}})->time_us == 12);
  CHECK(!records.find(kDevice, "gemm", {{"m", "7"}, {"n", "8"}}));
  CHECK(!records.find(kDevice, "attention", {{"m", "5"}, {"n", "8"}}));
  DeviceKey other = kDevice;
  other.memory_mhz = 2619;
  CHECK(!records.find(other, "gemm", {{"m", "5"}, {"n", "8"}}));
  REQUIRE(files(folder).size() == 1);
  CHECK(files(folder)[0].filename().string().starts_with("NVIDIA_Test_1_2-"));
}

TEST_CASE("of two records of one problem the faster stays") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  for (const double time : {12.0, 9.0, 10.0}) records.add(record("5", time));
  CHECK(records.all().size() == 1);
  CHECK(records.all()[0].time_us == 9);
}

TEST_CASE("a provisional record counts until a search is completed") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  const Settings problem = {{"m", "5"}, {"n", "8"}};
  const auto add = [&](double time_us, bool provisional, const std::string& made) {
    Record one = record("5", time_us);
    one.provisional = provisional;
    one.made = made;
    records.add(one);
    return records.find(kDevice, "gemm", problem)->time_us;
  };
  const auto lines = [&] {
    const std::string content = read_file(files(folder).at(0));
    return std::ranges::count(content, '\n');
  };
  CHECK(add(12, false, "") == 12);  // of a version without dates
  CHECK(add(13, true, "2026-01-01T00:00:00.000Z") == 12);
  CHECK(lines() == 1);
  CHECK(add(9, true, "2026-01-01T00:00:01.000Z") == 9);
  CHECK(add(8, true, "2026-01-01T00:00:02.000Z") == 8);
  CHECK(lines() == 2);
  CHECK(records.find(kDevice, "gemm", problem)->provisional);
  // Completed: what it has found is slower than its lucky first reading, and that of before counts again.
  CHECK(add(14, false, "2026-01-01T00:00:03.000Z") == 12);
  CHECK(lines() == 1);
  CHECK(add(10, false, "2026-01-01T00:00:03.500Z") == 10);
  CHECK(lines() == 2);
  // The same again, in whatever order they are merged in, changes nothing.
  CHECK(add(8, true, "2026-01-01T00:00:02.000Z") == 10);
  CHECK(add(14, false, "2026-01-01T00:00:03.000Z") == 10);
  CHECK(lines() == 2);
  CHECK(add(7, true, "2026-01-01T00:00:04.000Z") == 7);
  CHECK(add(13, false, "2026-01-01T00:00:03.700Z") == 7);  // of a search before
  CHECK(lines() == 3);
  CHECK(record_from_json(to_json(*records.find(kDevice, "gemm", problem))).made ==
        "2026-01-01T00:00:04.000Z");
}

TEST_CASE("a completed search stands for what another host's killed one has left") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  Record killed = record("5", 9);
  killed.provisional = true;
  killed.made = "2026-01-01T00:00:00.000Z";
  write_file(folder / "NVIDIA_Test_1_2-elsewhere.jsonl", to_json(killed) + "\n");
  Record first = record("5", 10), second = record("5", 11);
  first.made = "2025-01-01T00:00:00.000Z";
  second.made = record_time();
  records.add(first);
  CHECK(records.all().at(0).time_us == 9);
  records.add(second);
  REQUIRE(records.all().size() == 1);
  CHECK(records.all()[0].time_us == 10);
}

TEST_CASE("files of other hosts are merged on reading") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  records.add(record("5", 12));
  write_file(folder / "NVIDIA_Test_1_2-elsewhere.jsonl",
             to_json(record("5", 11)) + "\n" + to_json(record("9", 1)) + "\n");
  CHECK(records.all().size() == 2);
  CHECK(records.find(kDevice, "gemm", {{"m", "5"}, {"n", "8"}})->time_us == 11);
  CHECK(records.find(kDevice, "gemm", {{"m", "9"}, {"n", "8"}}));
}

TEST_CASE("a record of another version is a hint, never an answer") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  Record old = record("5", 2);
  old.library = "0.0.1";
  records.add(old);
  const Settings problem = {{"m", "5"}, {"n", "8"}};
  CHECK(!records.find(kDevice, "gemm", problem));
  REQUIRE(records.hints(kDevice, "gemm", problem).size() == 1);
  records.add(record("5", 12));
  CHECK(records.find(kDevice, "gemm", problem)->time_us == 12);
  CHECK(records.hints(kDevice, "gemm", problem)[0].time_us == 2);
}

TEST_CASE("a line that is no record is passed over with a warning, and kept") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  const Records records(folder.path(),
                        Log([&](LogLevel, std::string_view line) { warnings.emplace_back(line); }));
  records.add(record("5", 12));
  const std::filesystem::path file = files(folder).at(0);
  std::ofstream(file, std::ios::app) << "{\"schema\": 1, \"device\"\n" << "{\"schema\": 9}\n" << "{}\n";
  CHECK(records.all().size() == 1);
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0].find(file.string() + ":2") != std::string::npos);
  records.add(record("6", 1));
  CHECK(records.all().size() == 2);
  const std::string content = read_file(file);
  CHECK(content.find("{\"schema\": 1, \"device\"\n") != std::string::npos);
}

TEST_CASE("a file can be merged in, good lines only") {
  const TemporaryFolder folder;
  const Records records(folder / "records");
  write_file(folder / "given.txt", to_json(record("5", 12)) + "\nrubbish\n" + to_json(record("6", 3)));
  CHECK(records.merge(folder / "given.txt") == 2);
  CHECK(records.all().size() == 2);
}

TEST_CASE("a line with values that no record can have is none") {
  const auto json = [](const std::string& name, const nlohmann::json& value) {
    auto line = nlohmann::json::parse(to_json(record("5", 12)));
    line[name] = value;
    return error_of([&] { record_from_json(line.dump()); }).diagnostics().front();
  };
  for (const nlohmann::json& time :
       {nlohmann::json(0), nlohmann::json(-1), nlohmann::json("1"), nlohmann::json()}) {
    CHECK(json("time_us", time).code == "bad-record");
    CHECK(json("time_us", time).message.find("exception") == std::string::npos);
  }
  CHECK(json("spread", -1).code == "bad-record");
  CHECK(json("evaluations", -1).code == "bad-record");
  CHECK(json("evaluations", 1.5).code == "bad-record");
  CHECK(json("schema", 2).message.find("schema 2") != std::string::npos);
  CHECK(json("config", {{"tile_m", 64}}).message.find("tile_m") != std::string::npos);
  CHECK(json("device", "GPU").message.find("\"device\" is not an object") != std::string::npos);
  CHECK(json("provisional", 1).code == "bad-record");
  const std::string deep(1000000, '[');
  CHECK(error_of([&] { record_from_json(deep); }).diagnostics().front().message.find("nested too deeply") !=
        std::string::npos);
}

TEST_CASE("a file without any record is refused, an empty one is not") {
  const TemporaryFolder folder;
  const Records records(folder / "records");
  write_file(folder / "given.txt", "rubbish\nmore of it\n");
  const Error error = error_of([&] { records.merge(folder / "given.txt"); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.diagnostics().front().code == "bad-record");
  CHECK(error.diagnostics().front().message.find("given.txt:1") != std::string::npos);
  write_file(folder / "empty.txt", "\n");
  CHECK(records.merge(folder / "empty.txt") == 0);
}

TEST_CASE("records that cannot be written are an error that names the folder") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  CHECK(error_of([&] { Records(folder / "file" / "records").check_writable(kDevice); })
            .diagnostics()
            .front()
            .code == "unwritable-file");
  Records(folder / "good").check_writable(kDevice);
  CHECK(std::filesystem::is_empty(folder / "good"));  // trying leaves nothing
  const Error error = error_of([&] { Records(folder / "file" / "records").add(record("5", 1)); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.diagnostics().front().code == "unwritable-file");
  CHECK(error.diagnostics().front().hint.find("PTXLOOM_RECORDS") != std::string::npos);
}

TEST_CASE("the nearest record is that of the problem whose sizes are nearest by ratio") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  const auto nearest = [&](const std::string& m, const std::string& n) {
    const auto found = records.nearest(kDevice, "gemm", {{"m", m}, {"n", n}});
    return found ? found->problem.at("m") : "none";
  };
  CHECK(nearest("5", "8") == "none");
  for (const char* m : {"10", "100", "1000"}) records.add(record(m, 1));
  CHECK(nearest("12", "8") == "10");
  CHECK(nearest("40", "8") == "100");
  CHECK(nearest("90000", "8") == "1000");
  CHECK(nearest("12", "row") == "none");
  DeviceKey other = kDevice;
  other.sms = 1;
  CHECK(!records.nearest(other, "gemm", {{"m", "10"}, {"n", "8"}}));
}

TEST_CASE("records are read by the present names of parameters, and those with unknown ones are ignored") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  const Log log([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) warnings.emplace_back(text);
  });
  const Records records(folder.path(), log);
  Record old = record("5", 3), gone = record("6", 4), gone_too = record("7", 5), other = record("5", 1);
  old.config = {{"rows_of_tile", "32"}, {"loads", "2"}};
  old.problem = {{"height", "5"}, {"n", "8"}};
  gone.config["colour"] = "red";
  gone_too.problem["colour"] = "blue";
  other.kernel_template = "another";
  for (const Record& one : {old, gone, gone_too, other}) records.add(one);

  int asked = 0;
  records.know("gemm", [&] {
    ++asked;
    return RecordParameters{.names = {"m", "n", "tile_m", "loads"},
                            .former = {{"height", "m"}, {"rows_of_tile", "tile_m"}}};
  });
  CHECK(records.knows("gemm"));
  CHECK_FALSE(records.knows("another"));
  const auto found = records.find(kDevice, "gemm", {{"m", "5"}, {"n", "8"}});
  REQUIRE(found);
  CHECK(found->config == Settings{{"loads", "2"}, {"tile_m", "32"}});
  CHECK(records.all().size() == 2);
  CHECK(records.find(kDevice, "another", {{"m", "5"}, {"n", "8"}}));
  CHECK(asked == 1);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("2 records are ignored") != std::string::npos);
  CHECK(warnings[0].find("gemm has no 'colour'") != std::string::npos);

  // A new record of the same task stands next to the old line, and the faster one counts.
  records.add(record("5", 2));
  CHECK(records.find(kDevice, "gemm", {{"m", "5"}, {"n", "8"}})->time_us == 2);
  CHECK(warnings.size() == 1);
}

}  // namespace ptxloom::record_test
