// Where a run is written: nothing but a run of psim's is ever replaced, and only what was written is reused.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "analysis/run_files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_file.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* scenario = R"(seed = 7
[model]
layers = [64, 8, 10]
[training]
batch_size = 8
steps = 4
[cluster]
workers = 2
)";

// A folder with scenario.toml in it, in which psim runs.
class Place {
 public:
  Place() { write("scenario.toml", scenario); }
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(at(name).parent_path());
    std::ofstream(at(name)) << text;
  }
  Outcome psim(const std::vector<std::string>& words) const {
    return psim::test::psim(words, folder_.path());
  }
  Outcome run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"run", "scenario.toml"});
    return psim(more);
  }
  // Every file and folder with its content.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      all[entry.path().string()] = entry.is_regular_file() ? content(entry.path()) : "";
    return all;
  }
  std::set<std::string> names(const std::string& folder = ".") const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(at(folder))) all.insert(entry.path().filename());
    return all;
  }
  std::int64_t seed_of(const std::string& run) const {
    return Json::parse(content(at(run) / "summary.json"))["seed"];
  }

 private:
  TemporaryFolder folder_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("nothing but a run of psim's is replaced by --out, with --force or without", "[files][slow]") {
  const Place place;
  place.write("essay/essay.md", "mine");
  place.write("half/scenario.toml", scenario);
  place.write("database/run.db", "SQLite format 3");
  place.write("a-file", "mine");
  REQUIRE(place.run({"--out", "noted"}).code == 0);
  place.write("noted/notes.txt", "mine");
  REQUIRE(place.run({"--out", "linked"}).code == 0);
  fs::remove(place.at("linked/run.db"));
  fs::create_symlink("../a-file", place.at("linked/run.db"));
  fs::create_directory_symlink("noted", place.at("link"));
  fs::create_directory_symlink("nowhere", place.at("lost"));
  const auto before = place.everything();
  for (const std::string out : {"essay", "half", "database", "a-file", "noted", "linked", "link", "lost", ".",
                                "./", "..", "/", "essay/", "essay/.", "noted/.."}) {
    for (const char* force : {"--force", "--trace=steps"}) {
      const Outcome outcome = place.run({"--seed", "8", "--out", out, force});
      INFO(out << " " << force << "\n" << outcome.out << outcome.err);
      CHECK(outcome.code == 2);
      CHECK(outcome.out.empty());
      CHECK(contains(outcome.err, "= help: "));
      CHECK(place.everything() == before);
    }
  }
}

TEST_CASE("the folder of --out may be written in many ways", "[files]") {
  const Place place;
  fs::create_directory(place.at("empty"));
  for (const std::string out : {"B", "B/", "B/.", "./B//", "new/folders/run/", "empty/"}) {
    const Outcome outcome = place.run({"--out", out, "--force"});
    INFO(out << outcome.err);
    CHECK(outcome.code == 0);
    CHECK(fs::exists(place.at(out) / "run.db"));
  }
  CHECK(place.names() == std::set<std::string>{"scenario.toml", "B", "new", "empty"});
  CHECK(place.run({"--seed", "8", "--out", "B/"}).code == 0);
  CHECK(place.seed_of("B") == 8);
  CHECK(place.names("B") == std::set<std::string>{"run.db", "scenario.toml", "summary.json", "checksums"});
}

TEST_CASE("runs/latest is never written through, and follows the last run", "[files]") {
  const Place place;
  REQUIRE(place.run({}).code == 0);
  const fs::path first = fs::read_symlink(place.at("runs/latest"));
  CHECK(place.run({"--out", "runs/latest", "--seed", "8"}).code == 2);
  CHECK(fs::read_symlink(place.at("runs/latest")) == first);
  CHECK(place.seed_of("runs/latest") == 7);
  REQUIRE(place.run({"--seed", "8"}).code == 0);
  CHECK(place.seed_of("runs/latest") == 8);
  CHECK(place.names("runs").size() == 3);
}

TEST_CASE("what is left of killed runs is swept up, and what goes on is left alone", "[files]") {
  const Place place;
  const auto leave = [&](const std::string& name, const std::string& file) {
    place.write("runs/" + name + "/" + file, "");
    return place.at("runs/" + name);
  };
  const fs::path dead = leave("scenario-1.psim-partial-1-0", "run.db"),
                 of_another = leave("other-2.psim-partial-99-0", "run.db"),
                 alive = leave("scenario-3.psim-partial-2-0", "run.db"),
                 not_ours = leave("scenario-4.psim-partial-3-0", "essay.md"),
                 mixed = leave("scenario-5.psim-partial-4-0", "run.db");
  leave("scenario-5.psim-partial-4-0", "essay.md");
  const int lock = open(alive.c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE(flock(lock, LOCK_EX) == 0);
  REQUIRE(place.run({}).code == 0);
  CHECK(!fs::exists(dead));
  CHECK(!fs::exists(of_another));
  CHECK(fs::exists(alive / "run.db"));
  CHECK(fs::exists(not_ours / "essay.md"));
  CHECK(fs::exists(mixed / "run.db"));
  close(lock);
  REQUIRE(place.run({"--seed", "8"}).code == 0);
  CHECK(!fs::exists(alive));
}

TEST_CASE("a finished run is never swept up, whatever its folder is called", "[files]") {
  const Place place;
  const std::set<std::string> kept{"keep.psim-partial-backup", "keep.psim-partial-", "keep.psim-partial-1",
                                   "keep.psim-partial-1-2x", "keep.psim-partial-1-2.psim-partial-old"};
  for (const std::string& name : kept) REQUIRE(place.run({"--out", name}).code == 0);
  fs::copy(place.at("keep.psim-partial-1"), place.at("copy.psim-partial-1-2"));
  REQUIRE(place.run({"--out", "other"}).code == 0);
  for (const std::string& name : kept) CHECK(fs::exists(place.at(name) / "run.db"));
  CHECK(fs::exists(place.at("copy.psim-partial-1-2") / "run.db"));
  const Outcome refused = place.run({"--out", "mine.psim-partial-1-2"});
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "the name of an unfinished run"));

  fs::copy(place.at("scenario.toml"), place.at("my.psim-partial-test.toml"));
  const Outcome compared = place.psim({"compare", "my.psim-partial-test.toml", "--seeds", "1,2,3", "-j", "1",
                                       "--trace", "steps", "--out", "all"});
  INFO(compared.err);
  CHECK(compared.code == 0);
  CHECK(place.names("all/runs").size() == 3);
}

TEST_CASE("a folder for temporary files is swept up if psim made it", "[files]") {
  const Place place;
  place.write("tmp/psim-compare-backup/essay.md", "mine");
  place.write("tmp/psim-compare-a1B2c3/.psim-scratch", "");
  const Outcome compared = process(
      {"env", "TMPDIR=" + place.at("tmp").string(), binary().string(), "compare", "scenario.toml", "--json"},
      place.at("."));
  INFO(compared.err);
  CHECK(compared.code == 0);
  CHECK(place.names("tmp") == std::set<std::string>{"psim-compare-backup"});
}

TEST_CASE("a run whose files are not what was written is computed again, and psim says so", "[files][slow]") {
  const Place place;
  const Outcome made = place.run({"--out", "run", "--trace", "events"});
  REQUIRE(made.code == 0);
  const std::string summary = content(place.at("run/summary.json"));
  CHECK(contains(place.run({"--out", "run"}).out, "already done"));
  const auto shorter = [&] {
    const fs::path file = place.at("run/run.db");
    fs::resize_file(file, fs::file_size(file) - 1);
  };
  const auto better = [&] {
    std::string text = summary;
    const std::string word = "\"accuracy\": 0.";
    place.write("run/summary.json", text.replace(text.find(word), word.size(), "\"accuracy\": 1."));
  };
  const auto sealed = [&](const std::string& text) {
    return [&place, text] {
      place.write("run/summary.json", text);
      psim::analysis::seal(place.at("run"));
    };
  };
  const auto without = [&](const char* name) {
    return [&place, name] { fs::remove(place.at("run") / name); };
  };
  const std::vector<std::pair<std::string, std::function<void()>>> damages{
      {"run.db has changed", shorter},
      {"summary.json has changed", better},
      {"run.db is missing", without("run.db")},
      {"scenario.toml is missing", without("scenario.toml")},
      {"summary.json is missing", without("summary.json")},
      {"checksums is missing", without("checksums")},
      {"namespace-0.toml was not there", [&] { place.write("run/namespace-0.toml", ""); }},
      {"checksums does not name run.db", [&] { place.write("run/checksums", ""); }},
      {"summary.json is not the summary", sealed("[]")},
      {"summary.json is not the summary", sealed("null")},
      {"summary.json is not the summary", sealed("")},
      {"summary.json is not the summary", sealed(summary.substr(0, summary.size() / 2))},
      {"`build` is not a text", sealed("{\"build\": null}")},
      {"`scenario_hash` is not a text", sealed("{\"scenario_hash\": 5}")},
      {"recorded with --trace none", [&] {
         place.run({"--out", "run", "--trace", "none", "--force"});
       }}};
  for (const auto& [reason, damage] : damages) {
    damage();
    const Outcome again = place.run({"--out", "run", "--trace", "events"});
    INFO(reason << "\n" << again.out << again.err);
    CHECK(again.code == 0);
    CHECK(contains(again.err, "computing run/ again: "));
    CHECK(contains(again.err, reason));
    CHECK(contains(again.out, "wrote run/"));
    CHECK(content(place.at("run/summary.json")) == summary);
    CHECK(contains(place.run({"--out", "run", "--trace", "events"}).out, "already done"));
  }
}

TEST_CASE("what is no file in the place of a run's file is refused, and never waited for", "[files][slow]") {
  const Place place;
  REQUIRE(place.run({"--out", "run", "--trace", "events"}).code == 0);
  for (const std::string name : {"run.db", "summary.json", "scenario.toml", "checksums"}) {
    const fs::path file = place.at("run") / name;
    for (const bool is_pipe : {true, false}) {
      fs::rename(file, place.at("good"));
      if (is_pipe) REQUIRE(mkfifo(file.c_str(), 0600) == 0);
      else fs::create_symlink("/dev/zero", file);
      const Outcome again = psim::test::psim({"run", "scenario.toml", "--out", "run"}, place.at("."), {}, 3);
      INFO(name << is_pipe << again.err);
      CHECK(again.code == 2);
      CHECK(contains(again.err, "holds `" + name + "`, which psim did not write"));
      const Outcome verified = psim::test::psim({"verify", "run"}, place.at("."), {}, 3);
      INFO(verified.out << verified.err);
      CHECK(verified.code == (name == "checksums" ? 1 : 2));
      CHECK((contains(verified.err, "is not a run") || contains(verified.out, "checksums is missing")));
      fs::remove(file);
      fs::rename(place.at("good"), file);
    }
  }
}

TEST_CASE("a run that recorded more than is asked for is done already", "[files]") {
  const Place place;
  REQUIRE(place.run({"--out", "run", "--trace", "events"}).code == 0);
  CHECK(contains(place.run({"--out", "run", "--trace", "none"}).out, "already done"));
  CHECK(contains(place.run({"--out", "run"}).out, "already done"));
}

TEST_CASE("a run is computed again when any file that its scenario names has changed", "[files][slow]") {
  struct Case {
    const char* file;
    std::string text, changed, toml;
  };
  const std::string sparse = "1 1:1 3:2\n0 2:1\n1 1:2\n0 3:1\n1 1:1\n0 2:2\n1 3:3\n0 2:1\n1 1:4\n0 2:3\n";
  const std::string rest = "[training]\nbatch_size = 2\nsteps = 3\n[cluster]\nworkers = 2\n";
  const std::string table =
      "x,y,class\n1,2,0\n2,1,1\n3,1,1\n1,3,0\n4,1,1\n1,4,0\n5,2,1\n2,5,0\n6,1,1\n1,6,0\n";
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string layers = "[model]\nlayers = [64, 10]\n";
  const std::vector<Case> cases{
      {"data.svm", sparse, replaced(sparse, "3:2", "3:5"),
       "[data]\nsource = \"libsvm\"\npath = \"data.svm\"\n[model]\nkind = \"logistic\"\n" + rest},
      {"data.svm", sparse, replaced(sparse, "3:2", "2:2"),
       "[data]\nsource = \"libsvm\"\npath = \"data.svm\"\n[model]\nkind = \"logistic\"\n" + rest},
      {"data.csv", table, replaced(table, "6,1,1", "6,2,1"),
       "[data]\nsource = \"csv\"\npath = \"data.csv\"\n[model]\nlayers = [2, 2]\n" + rest},
      {"steps.txt", "1\n2\n", "1\n3\n",
       layers + rest + "[compute]\ndistribution = \"trace\"\ntrace = \"steps.txt\"\n"}};
  for (const Case& one : cases) {
    const Place place;
    place.write("scenario.toml", one.toml);
    place.write(one.file, one.text);
    const Outcome made = place.run({"--out", "run"});
    INFO(one.toml << one.changed << made.out << made.err);
    REQUIRE(made.code == 0);
    CHECK(contains(place.run({"--out", "run"}).out, "already done"));
    place.write(one.file, one.changed);
    const Outcome again = place.run({"--out", "run"});
    INFO(again.out << again.err);
    CHECK(contains(again.out, "wrote run/"));
    CHECK(contains(again.err, "another scenario's run"));
  }
}

TEST_CASE("the libraries that decide a run's bits are in its summary", "[files]") {
  const Json summary = run_toml(scenario);
  for (const char* library : {"simgrid", "snappy"}) {
    const std::string version = summary["libraries"][library];
    CHECK(version.find('.') != std::string::npos);
  }
}

TEST_CASE("the kind of processor is in a run's summary", "[files]") {
  utsname system{};
  REQUIRE(uname(&system) == 0);
  const std::string machine = system.machine;
  const std::string family = machine == "x86_64" ? "x86-64" : machine == "aarch64" ? "aarch64" : "other";
  CHECK(run_toml(scenario)["cpu_family"] == family);
}
