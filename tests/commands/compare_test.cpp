// psim compare: it runs what was asked for, or says why not.
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* scenario = R"([model]
layers = [64, 10]
[training]
batch_size = 16
steps = 3
[cluster]
workers = 2
)";
constexpr const char* axes = R"([compare]
consistency = ["bsp", "ssp 3"]
seeds = [1, 2]
)";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// "bsp 1" for each run.
std::set<std::string> compared(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"compare", "scenario.toml", "--json"});
  const Outcome outcome = psim::test::psim(words, folder);
  INFO(words.back() << "\n" << outcome.err);
  REQUIRE(outcome.code == 0);
  std::set<std::string> runs;
  const Json document = Json::parse(outcome.out);
  for (const Json& run : document["runs"])
    runs.insert((run["arm"] == "" ? "as it is" : run["arm"].get<std::string>()) + " " + run["seed"].dump());
  CHECK(runs.size() == document["runs"].size());
  return runs;
}

}  // namespace

TEST_CASE("axes of the command line are run as those of the file are", "[compare][slow]") {
  using Runs = std::set<std::string>;
  const TemporaryFolder folder;
  const auto with = [&](const std::string& set) { return compared(folder.path(), {"--set", set}); };
  std::ofstream(folder.path() / "scenario.toml") << scenario;
  CHECK(with("compare.seeds=[1, 2]") == Runs{"as it is 1", "as it is 2"});
  CHECK(with("compare.seeds=[3, 4]") == Runs{"as it is 3", "as it is 4"});
  CHECK(with("compare={ consistency = [\"asp\"], seeds = [5] }") == Runs{"asp 5"});
  CHECK(with("seed=[3, 4]") == Runs{"as it is 3", "as it is 4"});
  std::ofstream(folder.path() / "scenario.toml") << scenario << axes;
  CHECK(with("compare.seeds=[5, 6]") == Runs{"bsp 5", "bsp 6", "ssp 3 5", "ssp 3 6"});
  CHECK(with("compare={ seeds = [7, 8] }") == Runs{"bsp 7", "bsp 8", "ssp 3 7", "ssp 3 8"});
  CHECK(with("compare.consistency=[{ model = \"asp\" }]") == Runs{"asp 1", "asp 2"});
  CHECK(with("consistency.model=asp") == Runs{"as it is 1", "as it is 2"});
  // A word sets no more than the model and its number.
  CHECK(with("consistency.aggregation=sum") == Runs{"bsp 1", "bsp 2", "ssp 3 1", "ssp 3 2"});
}

TEST_CASE("a comparison ends where the ends of children are ignored", "[compare]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << scenario << axes;
  const Outcome outcome =
      process({"env", "--ignore-signal=CHLD", binary().string(), "compare", "scenario.toml", "--json"},
              folder.path(), {}, 2);
  INFO(outcome.err);
  CHECK(outcome.code == 0);
}

TEST_CASE("data that change while a study runs do not change its runs", "[compare][slow]") {
  const TemporaryFolder folder;
  const fs::path data = folder.path() / "data.csv";
  const auto write = [&](int last) {
    std::ofstream file(data);
    file << "x,y,class\n";
    for (int i = 0; i < 20; ++i) file << i << "," << 20 - i << "," << i % 2 << "\n";
    file << last << ",1,1\n";
  };
  write(5);
  {
    std::ofstream file(folder.path() / "scenario.toml");
    file << "[data]\nsource = \"csv\"\npath = \"data.csv\"\n[model]\nlayers = [2, 2]\n"
         << "[training]\nbatch_size = 2\nsteps = 3\n[cluster]\nworkers = 2\n[compare]\nseeds = [0";
    for (int seed = 1; seed < 60; ++seed) file << ", " << seed;
    file << "]\n";
  }
  REQUIRE(psim::test::psim({"compare", "scenario.toml", "--out", "calm"}, folder.path()).code == 0);
  std::thread editor([&] {
    for (int i = 0; i < 6000 && !fs::exists(folder.path() / "disturbed" / "results"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    write(6);
  });
  const Outcome outcome =
      psim::test::psim({"compare", "scenario.toml", "--out", "disturbed", "-j", "1"}, folder.path());
  editor.join();
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(content(folder.path() / "disturbed" / "study.json") ==
        content(folder.path() / "calm" / "study.json"));
  // What is read again is another study, even if three steps of some seeds never meet the sample.
  const Outcome replay = psim::test::psim({"replay", "disturbed"}, folder.path());
  CHECK(replay.code == 1);
  CHECK(contains(replay.out, "different run: psim run"));
}
