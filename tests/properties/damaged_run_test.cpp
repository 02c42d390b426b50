// Run folders whose files do not belong together, or were changed: a diagnosis, never a crash.

#include <fstream>
#include <string>

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

}  // namespace

TEST_CASE("verify refuses a run whose files do not belong together", "[verify]") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", copy = folder.path() / "copy";
  std::ofstream(folder.path() / "scenario.toml") << scenario;
  REQUIRE(
      psim::test::psim({"run", "scenario.toml", "--trace", "events", "--out", "run"}, folder.path()).code ==
      0);
  const auto refused_after = [&](auto&& change) {
    fs::remove_all(copy);
    fs::copy(run, copy);
    change();
    const Outcome outcome = psim::test::psim({"verify", "copy"}, folder.path());
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find("= help:") != std::string::npos);
  };
  const fs::path toml = copy / "scenario.toml", json = copy / "summary.json", database = copy / "run.db";
  refused_after([&] { replace(toml, "workers = 4", "workers = 2"); });
  refused_after([&] { replace(toml, "servers = 3", "servers = 1"); });
  refused_after([&] { replace(toml, "workers = 4", "workers = 4000000000"); });
  refused_after([&] { replace(json, "\"pushes\"", "\"pulls\""); });
  refused_after([&] { std::ofstream(json) << "[]"; });
  refused_after([&] { fs::resize_file(database, fs::file_size(database) / 2); });
  for (const char* sql :
       {"UPDATE event SET peer = 400 WHERE number = 3", "UPDATE event SET peer = 1 WHERE kind = 'apply'",
        "UPDATE event SET node = 5 WHERE kind = 'apply'",
        "UPDATE event SET bytes = 4000000000000 WHERE kind = 'apply'",
        "UPDATE event SET bytes = -5 WHERE kind = 'apply'",
        "UPDATE event SET value = 4000000000000 WHERE kind = 'deliver' AND message = 'push'",
        "UPDATE event SET kind = 'member', value = 4000000000000 WHERE kind = 'apply'",
        "UPDATE event SET kind = 'acked' WHERE kind = 'apply'",
        "UPDATE event SET kind = 'suspect', peer = 9 WHERE kind = 'apply'",
        "UPDATE node SET role = 'database' WHERE node = 7"})
    refused_after([&] {
      UNSCOPED_INFO(sql);
      change_run(copy, sql);
    });
}
