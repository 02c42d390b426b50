// Run folders whose files do not belong together, or were changed: a diagnosis, never a crash.

#include <fstream>
#include <string>
#include <vector>

#include "analysis/run_files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_file.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* scenario = R"(
[model]
layers = [64, 10]
[training]
batch_size = 16
steps = 5
[cluster]
workers = 4
servers = 3
[consistency]
model = "asp"
)";

// The file with `from` changed to `to`, which must be there.
void replace(const fs::path& path, const std::string& from, const std::string& to) {
  std::string text = content(path);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  std::ofstream(path, std::ios::binary) << text.replace(at, from.size(), to);
}

// A run with its events, and the place of a copy that is damaged.
struct Damaged {
  Damaged() {
    std::ofstream(folder.path() / "scenario.toml") << scenario;
    const Outcome made =
        psim::test::psim({"run", "scenario.toml", "--trace", "events", "--out", "run"}, folder.path());
    REQUIRE(made.code == 0);
  }
  void copy_again() const {
    fs::remove_all(copy);
    fs::copy(run, copy);
  }
  TemporaryFolder folder;
  fs::path run = folder.path() / "run", copy = folder.path() / "copy";
};

}  // namespace

TEST_CASE("verify refuses a run whose files do not belong together", "[verify][slow]") {
  const Damaged damaged;
  const fs::path& copy = damaged.copy;
  const auto refused_after = [&](auto&& change) {
    damaged.copy_again();
    change();
    const Outcome outcome = psim::test::psim({"verify", "copy"}, damaged.folder.path());
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find("= help:") != std::string::npos);
  };
  const fs::path json = copy / "summary.json", database = copy / "run.db";
  refused_after([&] { replace(json, "\"pushes\"", "\"pulls\""); });
  refused_after([&] { std::ofstream(json) << "[]"; });
  refused_after([&] { fs::resize_file(database, fs::file_size(database) / 2); });
  for (const char* sql :
       {"UPDATE fact SET value = '2' WHERE name = 'workers'",
        "UPDATE fact SET value = '1' WHERE name = 'servers'",
        "UPDATE fact SET value = '4000000000' WHERE name = 'workers'",
        "UPDATE fact SET value = '[' WHERE name = 'workers'",
        "UPDATE sent SET receiver = 400 WHERE number = 3", "UPDATE push_outcome SET worker = 1",
        "UPDATE push_outcome SET node = 5", "UPDATE push_outcome SET push = 4000000000000",
        "UPDATE push_outcome SET push = -5", "UPDATE sent SET push = 4000000000000 WHERE kind = 'push'",
        "INSERT INTO membership SELECT number, at_s, node, NULL, NULL, shard, worker, 1, 1, 4000000000000, "
        "0, 0 FROM "
        "push_outcome; DELETE FROM push_outcome",
        "INSERT INTO acknowledgement SELECT number, at_s, node, NULL, NULL, worker, shard, 0, 0 FROM "
        "push_outcome",
        "INSERT INTO suspicion SELECT number, at_s, 0, NULL, NULL, 9, 0 FROM push_outcome",
        "UPDATE node SET role = 'database' WHERE node = 7", "UPDATE sent SET kind = 'poll' WHERE number = 3",
        "ALTER TABLE received ADD COLUMN more"})
    refused_after([&] {
      UNSCOPED_INFO(sql);
      change_run(copy, sql);
    });
}

TEST_CASE("replay and verify name the file that is damaged", "[verify][slow]") {
  const Damaged damaged;
  const fs::path &run = damaged.run, &copy = damaged.copy;
  const std::string json = content(run / "summary.json");
  const auto refused = [&](const std::string& command, const std::string& name, const std::string& text,
                           const std::string& said) {
    damaged.copy_again();
    std::ofstream(copy / name, std::ios::binary) << text;
    psim::analysis::seal(copy);
    const Outcome outcome = psim::test::psim({command, "copy"}, damaged.folder.path());
    INFO(command << " " << text.substr(0, 50) << "\n" << outcome.out << outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find(said) != std::string::npos);
    CHECK(outcome.err.find("= help:") != std::string::npos);
  };
  const std::string no_summary = "summary.json is not the summary of a run";
  for (const std::string& text : {std::string(), std::string("[]"), json.substr(0, json.size() / 2)}) {
    refused("verify", "summary.json", text, no_summary);
    refused("replay", "summary.json", text, no_summary);
  }
  for (const char* text : {"{\"build\": null}", "{\"build\": 5, \"libraries\": 3}"})
    refused("replay", "summary.json", text, "summary.json: `build` is not a text");
  fs::remove(copy / "scenario.toml");
  fs::create_directory(copy / "scenario.toml");
  const Outcome outcome = psim::test::psim({"verify", "copy"}, damaged.folder.path());
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("is not a run: it needs run.db, scenario.toml") != std::string::npos);
}

TEST_CASE("what looks at a run refuses a summary that is not its own, and says which file has changed",
          "[slow]") {
  const Damaged damaged;
  const std::vector<std::vector<std::string>> commands{
      {"why", "copy"},      {"what-if", "copy", "bandwidth=2x"},
      {"timeline", "copy"}, {"export", "copy", "--svg", "charts"},
      {"report", "copy"},
  };
  const auto asked = [&](const std::vector<std::string>& command) {
    return psim::test::psim(command, damaged.folder.path());
  };
  for (const std::vector<std::string>& command : commands) {
    INFO(command.front());
    damaged.copy_again();
    const Outcome sound = asked(command);
    CHECK(sound.code == 0);
    CHECK(sound.err.find("note:") == std::string::npos);
    std::ofstream(damaged.copy / "summary.json") << "{}";
    const Outcome empty = asked(command);
    INFO(empty.err);
    CHECK(empty.code == 2);
    CHECK(empty.err.find("summary.json does not fit the run") != std::string::npos);
    CHECK(empty.err.find("json.exception") == std::string::npos);
    damaged.copy_again();
    replace(damaged.copy / "summary.json", "\"events\"", "\"event\"");
    const Outcome other = asked(command);
    INFO(other.err);
    CHECK((other.code == 0 || other.code == 2));
    CHECK(other.err.find("summary.json") != std::string::npos);
    damaged.copy_again();
    std::ofstream(damaged.copy / "scenario.toml", std::ios::app) << "# changed\n";
    const Outcome changed = asked(command);
    CHECK(changed.code == 0);
    CHECK(changed.err.find("note: copy: scenario.toml has changed since it was written") !=
          std::string::npos);
  }
}
