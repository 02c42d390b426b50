// Goal: what a command line asks for is checked before anything runs or is written, and all that is wrong is
// said at once. Method: a table of command lines, each with what stderr must say; the folder must stay as it
// was.
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/study_place.hpp"

using namespace psim::test;

namespace {

struct Wrong {
  std::vector<std::string> words;
  std::vector<std::string> said;  // on stderr, all of it
};

// Every file with its content, as the shell lists it.
std::string listing(const Place& place) {
  return process({"sh", "-c", "find . -type f -exec cksum {} + | sort -k3"}, place.at(".")).out;
}

const std::vector<Wrong> table{
    // Several options at once
    {{"run", "scenario.toml", "--threads", "x", "--trace", "much", "--jobs", "2"},
     {"`x` is not an integer", "`much` is not one of none, steps, events",
      "psim run has no option `--jobs`"}},
    {{"compare", "scenario.toml", "--seeds", "3-1", "--jobs=-2"}, {"decreases", "`-2` is not an integer"}},
    // run: the scenario and the folder
    {{"run", "scenario.toml", "--set", "cluster.workers=0", "--out", "file/run"},
     {"cluster.workers", "file is not a folder"}},
    {{"run", "scenario.toml", "--set", "training.steps=x", "--out", "foreign"},
     {"training.steps", "holds `photo`"}},
    {{"run", "scenario.toml", "--out", "/proc/psim/run"}, {"cannot make a folder in /proc"}},
    // compare and merge: table, baseline, folder, scenario
    {{"compare", "scenario.toml", "--columns", "nosuch", "--baseline", "bps", "--out", "foreign"},
     {"nosuch", "--baseline bps: no arm has this name", "did you mean `bsp`?",
      "foreign is neither a study nor empty"}},
    {{"compare", "scenario.toml", "--slice", "9/8", "--out", "file/study"}, {"9/8", "file is not a folder"}},
    {{"compare", "scenario.toml", "--until-ci", "5%", "--slice", "1/2", "--baseline", "bps"},
     {"--until-ci chooses seeds", "no arm has this name"}},
    {{"compare", "scenario.toml", "--count", "--baseline", "bps"}, {"no arm has this name"}},
    {{"merge", "study", "--columns", "nosuch", "--baseline", "bps"}, {"nosuch", "no arm has this name"}},
    // what looks at runs
    {{"what-if", "run", "bandwith=2x", "compute=worker 99:50%", "--set", "cluster"},
     {"bandwith=2x", "worker 99", "an override needs a key and a value"}},
    {{"what-if", "run", "no-straggler", "--set", "cluster.workers=x"}, {"cluster.workers"}},
    {{"export", "run", "--csv", "no/such/run.csv", "--dot", "foreign/photo", "--svg", "file"},
     {"cannot write no/such/run.csv", "was not written by psim export", "file is not a folder"}},
    {{"export", "run", "--csv", "one", "--dot", "one"}, {"--csv and --dot name the same file"}},
    {{"export", "study", "--csv", "a.csv", "--from", "1s", "--svg", "charts"},
     {"--csv is for a run", "--from is for a run"}},
    {{"report", "run", "--out", "no/such/page.html"}, {"cannot write no/such/page.html"}},
    {{"timeline", "run", "--width", "3", "--clocks", "0"},
     {"`3` is not an integer", "`0` is not an integer"}},
    {{"why", "run", "--until", "lunch", "--at", "noon"},
     {"`lunch` is not one of", "`noon` is not a duration"}},
    // what keeps and publishes
    {{"archive", "study", "-o", "no/such/study.tar.gz"}, {"cannot write no/such/study.tar.gz"}},
    {{"runs", "--in", "runs", "remove", "kept", "nosuch"}, {"nosuch"}},
    // fuzz
    {{"fuzz", "--runs", "1", "--base", "plain.toml", "--out", "file/failures"},
     {"has no [consistency]", "file is not a folder"}},
    // the course
    {{"lab", "start", "99", "--student", "a b", "--out", "foreign"},
     {"no lab 99", "is not a valid ID of a student", "foreign exists already"}},
    {{"lab", "start", "1", "--student", "a", "--out", "file/lab"}, {"file is not a folder"}},
    {{"grade", "nosuch.json", "--csv", "no/such/grades.csv", "--junit", "foreign/photo", "--course",
      "nowhere"},
     {"nosuch.json", "cannot write no/such/grades.csv", "was not written by psim grade", "nowhere"}},
    {{"new", "no/such/my.toml"}, {"the folder no/such does not exist"}},
    {{"new", "my.toml", "--workers", "0", "--slowdown", "x"}, {"`0` is not an integer", "x is not a number"}},
    {{"serve", "--port", "99999", "--seconds", "0"}, {"`99999` is not an integer", "`0` is not an integer"}},
};

}  // namespace

TEST_CASE("options are checked before anything runs, all at once, in every command", "[options][slow]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  std::ofstream(place.at("plain.toml")) << scenario;
  std::ofstream(place.at("file")) << "somebody's\n";
  std::filesystem::create_directory(place.at("foreign"));
  std::ofstream(place.at("foreign") / "photo") << "somebody's\n";
  REQUIRE(place.psim({"run", "scenario.toml", "--out", "run"}).code == 0);
  REQUIRE(place.psim({"run", "scenario.toml", "--out", "runs/kept"}).code == 0);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const std::string before = listing(place);
  for (const Wrong& one : table) {
    std::string line = "psim";
    for (const std::string& word : one.words) line += " " + word;
    const Outcome refused = place.psim(one.words);
    INFO(line << "\n" << refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
    for (const std::string& text : one.said) {
      INFO(text);
      CHECK(contains(refused.err, text));
    }
    CHECK(listing(place) == before);
  }
}

TEST_CASE("what --set takes the effect of is said", "[set]") {
  const auto said = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"check", (source_folder() / "scenarios/quickstart.toml").string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const std::string err = psim::test::psim(all).err;
    return err.find("any more") != std::string::npos ? err : std::string();
  };
  const std::string speed = said({"--set", "compute.time=5ms"});
  CHECK(speed.find("`cluster.worker.speed` has no effect any more") != std::string::npos);
  CHECK(speed.find("compute.time=5ms") != std::string::npos);
  CHECK(said({"--set", "training.learning_rate=0.1"}).empty());
  CHECK(said({"--set", "consistency.model=ssp", "--set", "consistency.staleness=2"}).empty());
  // Also what another --set gave.
  CHECK(said({"--set", "consistency.staleness=2", "--set", "consistency.model=asp"})
            .find("`consistency.staleness` has no effect any more") != std::string::npos);
}

// A first build has the commands of a first table only; `psim-further` beside it has them all.
TEST_CASE("a command of the further program comes from beside psim", "[usage]") {
  const TemporaryFolder folder;
  const std::filesystem::path alone = folder.path() / "psim";
  std::filesystem::copy_file(binary(), alone);
  const Outcome help = process({alone.string(), "--help"});
  CHECK(help.code == 0);
  CHECK(help.out.find("what-if ") != std::string::npos);
  const Outcome missing = process({alone.string(), "what-if", "latest"});
  CHECK(missing.code == 2);
  CHECK(missing.err.find("this build has no what-if") != std::string::npos);
  CHECK(missing.err.find("./psim builds what a command needs") != std::string::npos);
  // The same words with the program beside it; its results count as this psim's.
  std::filesystem::copy_file(binary().parent_path() / "psim-further", folder.path() / "psim-further");
  CHECK(process({alone.string(), "help", "what-if"}).out == psim::test::psim({"help", "what-if"}).out);
  const std::vector<std::string> run{"run", (source_folder() / "scenarios/quickstart.toml").string(),
                                     "--json", "--set", "training.epochs=1"};
  const auto made_by = [&](const std::filesystem::path& program) {
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), run.begin(), run.end());
    return Json::parse(process(words).out);
  };
  CHECK(made_by(folder.path() / "psim-further") == made_by(alone));
}
