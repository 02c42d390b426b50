// psim studies, runs, archive and cite: what is kept is found, renamed, removed and published, and nothing
// that psim did not write is touched.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/host.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* scenario = R"(title = "Two ways"
[model]
layers = [64, 10]
[training]
batch_size = 16
steps = 3
[cluster]
workers = 2
[compare]
consistency = ["bsp", "asp"]
"cluster.workers" = [2, 3]
seeds = [1, 2]
)";

// A folder with a study under studies/ and a run under runs/.
class Shelf {
 public:
  Shelf() {
    std::ofstream(path() / "small.toml") << scenario;
    run({"compare", "small.toml"});
    study_ = fs::canonical(path() / "studies/latest").filename().string();
  }
  const fs::path& path() const { return folder_.path(); }
  const std::string& study() const { return study_; }
  Outcome run(const std::vector<std::string>& words, int code = 0) const {
    Outcome outcome = psim::test::psim(words, path());
    INFO(words[0] << " " << (words.size() > 1 ? words[1] : "") << "\n" << outcome.out << outcome.err);
    REQUIRE(outcome.code == code);
    return outcome;
  }
  Json json(std::vector<std::string> words) const {
    words.emplace_back("--json");
    return Json::parse(run(words).out);
  }
  bool has(const fs::path& what) const { return fs::exists(fs::symlink_status(path() / what)); }

 private:
  TemporaryFolder folder_;
  std::string study_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void append(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::app) << text; }

// The journal without its last line.
void lose_a_run(const fs::path& study) {
  std::string lines = content(study / "results.jsonl");
  lines.erase(lines.rfind('\n', lines.size() - 2) + 1);
  std::ofstream(study / "results.jsonl") << lines;
}

}  // namespace

TEST_CASE("studies are listed with what they hold", "[shelf]") {
  const Shelf shelf;
  const Json studies = shelf.json({"studies"})["studies"];
  REQUIRE(studies.size() == 1);
  CHECK(studies[0]["name"] == shelf.study());
  CHECK(studies[0]["title"] == "Two ways");
  CHECK(studies[0]["arms"] == 2);
  CHECK(studies[0]["conditions"] == 2);
  CHECK(studies[0]["seeds"] == 2);
  CHECK(studies[0]["runs"] == 8);
  CHECK(studies[0]["done"] == 8);
  CHECK(studies[0]["state"] == "complete");
  CHECK(shelf.json({"studies", "sma*"})["studies"].size() == 1);
  CHECK(shelf.json({"studies", "mall-"})["studies"].size() == 1);
  CHECK(shelf.json({"studies", "large"})["studies"].empty());
  CHECK(shelf.json({"studies", "--in", "studies"})["studies"].size() == 1);
  shelf.run({"studies", "--in", "nowhere"}, 2);
  fs::create_directories(shelf.path() / "studies/damaged");
  append(shelf.path() / "studies/damaged/manifest.json", "{");
  lose_a_run(shelf.path() / "studies" / shelf.study());
  const Json two = shelf.json({"studies"})["studies"];
  REQUIRE(two.size() == 2);
  CHECK(two[0]["state"] == "damaged");
  CHECK(two[1]["state"] == "incomplete");
  CHECK(two[1]["done"] == 7);
}

TEST_CASE("a study is renamed, and latest follows", "[shelf][slow]") {
  const Shelf shelf;
  shelf.run({"studies", "rename", "latest", "two ways"});
  CHECK(shelf.has("studies/two ways/manifest.json"));
  CHECK_FALSE(shelf.has("studies/" + shelf.study()));
  CHECK(fs::read_symlink(shelf.path() / "studies/latest") == "two ways");
  // The same command finds its runs there.
  CHECK(contains(shelf.run({"compare", "small.toml", "--slice", "1/1"}).err, "0 made now, 8 existed before"));
  for (const char* name : {"", "a/b", "..", ".", "latest", "../up", "/tmp/psim-elsewhere", ".hidden", "-x"}) {
    INFO(name);
    CHECK(psim::test::psim({"studies", "rename", "two ways", "--", name}, shelf.path()).code == 2);
    CHECK(shelf.has("studies/two ways/manifest.json"));
  }
  fs::create_directory(shelf.path() / "studies/taken");
  CHECK(contains(shelf.run({"studies", "rename", "two ways", "taken"}, 2).err, "exists already"));
  CHECK(contains(shelf.run({"studies", "rename", "two wayz", "new"}, 2).err, "did you mean `two ways`?"));
  shelf.run({"studies", "rename", "two ways"}, 2);
}

TEST_CASE("removing takes what psim wrote, and refuses the rest", "[shelf][slow]") {
  const Shelf shelf;
  const fs::path study = shelf.path() / "studies" / shelf.study();
  for (const char* wrong : {"nothing", "small.toml", ".", "..", "/", "", "studies"}) {
    INFO(wrong);
    CHECK(psim::test::psim({"studies", "remove", wrong}, shelf.path()).code == 2);
  }
  fs::create_directory(shelf.path() / "empty");
  CHECK(contains(shelf.run({"studies", "remove", "empty"}, 2).err, "is not a study"));
  for (const char* foreign : {"notes.txt", "README.md", "results/notes.txt", "runs/mine/notes.txt"}) {
    fs::create_directories((study / foreign).parent_path());
    append(study / foreign, "mine");
    INFO(foreign);
    const Outcome removed = shelf.run({"studies", "remove", shelf.study()});
    CHECK(contains(removed.out, "kept files that psim did not write: "));
    CHECK(contains(removed.out, "rm -r studies/" + shelf.study()));
    CHECK(content(study / foreign) == "mine");
    CHECK_FALSE(fs::exists(study / "manifest.json"));
    CHECK_FALSE(fs::exists(study / "results.jsonl"));
    fs::remove_all(study);
    shelf.run({"compare", "small.toml"});
  }
  // Figures that its own programs drew, and what a process that was killed had begun, are no others'.
  for (const std::string& made :
       {std::string("curves.aux"), std::string("curves.log"), std::string("curves.pdf"),
        std::string("losses.pdf"), "study.json.new-" + this_host() + "-1"})
    append(study / made, "made");
  fs::create_directory_symlink(study, shelf.path() / "link");
  CHECK(contains(shelf.run({"studies", "remove", "link"}, 2).err, "is a link"));
  CHECK(psim::test::psim({"studies", "remove", "."}, study).code == 2);  // the folder that one is in
  CHECK(contains(shelf.run({"studies", "remove", "latest"}).out, "removed studies/" + shelf.study()));
  CHECK_FALSE(fs::exists(study));
  CHECK_FALSE(shelf.has("studies/latest"));
}

TEST_CASE("what a killed process had begun to write goes when the study is made", "[shelf]") {
  const Shelf shelf;
  const fs::path study = shelf.path() / "studies" / shelf.study();
  const std::string left = "runs.csv.new-" + this_host() + "-1";
  for (const char* command : {"compare", "merge"}) {
    append(study / left, "half");
    shelf.run({command, std::string(command) == "merge" ? "latest" : "small.toml"});
    CHECK_FALSE(fs::exists(study / left));
  }
}

TEST_CASE("when the latest study is removed, the one before is the latest", "[shelf]") {
  const Shelf shelf;
  shelf.run({"compare", "small.toml", "--seeds", "1,2,3"});
  CHECK(fs::read_symlink(shelf.path() / "studies/latest") != shelf.study());
  shelf.run({"studies", "remove", "latest"});
  CHECK(fs::read_symlink(shelf.path() / "studies/latest") == shelf.study());
}

TEST_CASE("a study with recorded runs is removed with them", "[shelf]") {
  const Shelf shelf;
  shelf.run({"compare", "small.toml", "--trace", "steps", "--out", "kept"});
  CHECK(shelf.json({"studies", "--in", "."})["studies"].size() == 1);
  CHECK(contains(shelf.run({"studies", "remove", "./kept"}).out, "and 8 recorded runs"));
  CHECK_FALSE(shelf.has("kept"));
}

TEST_CASE("runs are listed and chosen by what they are", "[shelf][slow]") {
  const Shelf shelf;
  shelf.run({"run", "small.toml", "--seed", "7"});
  const auto count = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "runs");
    return shelf.json(words)["runs"].size();
  };
  CHECK(count({}) == 9);
  CHECK(count({"--study", "latest"}) == 8);
  CHECK(count({"--where", "seed=7"}) == 1);
  CHECK(count({"--where", "seed=1"}) == 4);
  CHECK(count({"--where", "arm=asp", "--where", "seed=2", "--where", "cluster.workers=3"}) == 1);
  CHECK(count({"--where", "scenario=small"}) == 9);
  CHECK(count({"--where", "reached=yes"}) == 0);  // they have no target
  const Json first = shelf.json({"runs", "--where", "seed=7"})["runs"][0];
  CHECK(first["where"].get<std::string>().starts_with("runs/small-"));
  const std::string digest = first["digest"];
  CHECK(count({"--where", "digest=" + digest.substr(0, 6)}) == 1);
  CHECK(count({first["run"].get<std::string>().substr(0, 8)}) == 1);
  CHECK(contains(shelf.run({"runs", "--where", "sed=1"}, 2).err, "did you mean `seed`?"));
  shelf.run({"runs", "--where", "seed"}, 2);
  shelf.run({"runs", "--study", "none"}, 2);
}

TEST_CASE("a run is renamed and removed, and nothing else is", "[shelf]") {
  const Shelf shelf;
  shelf.run({"run", "small.toml", "--seed", "7"});
  shelf.run({"runs", "rename", "latest", "seventh"});
  CHECK(fs::read_symlink(shelf.path() / "runs/latest") == "seventh");
  CHECK(shelf.has("runs/seventh/run.db"));
  append(shelf.path() / "runs/seventh/notes.txt", "mine");
  CHECK(contains(shelf.run({"runs", "remove", "seventh"}, 2).err, "notes.txt"));
  CHECK(contains(shelf.run({"runs", "rename", "seventh", "eighth"}, 2).err, "notes.txt"));
  fs::remove(shelf.path() / "runs/seventh/notes.txt");
  CHECK(contains(shelf.run({"runs", "remove", shelf.study()}, 2).err, "there is no run"));
  shelf.run({"runs", "remove", "seventh"});
  CHECK_FALSE(shelf.has("runs/seventh"));
  CHECK_FALSE(shelf.has("runs/latest"));
}

TEST_CASE("an archive is the same each time, checks, and can be replayed", "[shelf][slow]") {
  const Shelf shelf;
  const std::vector<std::string> author{"--author", "Lovelace, Ada"};
  shelf.run({"archive", "latest", author[0], author[1], "-o", "one.tar.gz"});
  append(shelf.path() / "studies" / shelf.study() / "notes.txt", "left out");
  const Outcome again = shelf.run({"archive", shelf.study(), author[0], author[1], "-o", "two.tar.gz"});
  CHECK(contains(again.err, "notes.txt is left out"));
  CHECK(content(shelf.path() / "one.tar.gz") == content(shelf.path() / "two.tar.gz"));
  // Whose results they are says what may be done with them; psim does not.
  CHECK(contains(again.err, "without --license"));
  fs::create_directory(shelf.path() / "elsewhere");
  REQUIRE(process({"tar", "xzf", "../one.tar.gz"}, shelf.path() / "elsewhere").code == 0);
  const fs::path unpacked = shelf.path() / "elsewhere" / shelf.study();
  CHECK(process({"sha256sum", "--check", "--strict", "SHA256SUMS"}, unpacked).code == 0);
  for (const char* name : {"README.md", "CITATION.cff", ".zenodo.json", "LICENSE.txt", "small.toml"})
    CHECK(fs::exists(unpacked / name));
  const Json zenodo = Json::parse(content(unpacked / ".zenodo.json"));
  CHECK(zenodo["creators"][0]["name"] == "Lovelace, Ada");
  CHECK(zenodo["upload_type"] == "dataset");
  CHECK_FALSE(zenodo.contains("license"));
  CHECK_FALSE(contains(content(unpacked / "CITATION.cff"), "license:"));
  CHECK(contains(content(unpacked / "LICENSE.txt"), "stated no licence"));
  CHECK(contains(psim::test::psim({"replay", "."}, unpacked).out, "8 of 8 runs are the same"));
  CHECK(psim::test::psim({"compare", "small.toml", "--count"}, unpacked).out == "8\n");
  // What is unpacked is a study as before: its archive is the same, and it can be removed.
  REQUIRE(psim::test::psim({"archive", ".", author[0], author[1], "-o", "../three.tar.gz"}, unpacked).code ==
          0);
  CHECK(content(shelf.path() / "elsewhere/three.tar.gz") == content(shelf.path() / "one.tar.gz"));
  shelf.run({"studies", "remove", "elsewhere/" + shelf.study()});
  CHECK_FALSE(fs::exists(unpacked));
  const Outcome free = shelf.run({"archive", "latest", "--license", "CC0-1.0", "-o", "free.tar.gz"});
  CHECK_FALSE(contains(free.err, "without --license"));
  REQUIRE(process({"tar", "xzf", "../free.tar.gz"}, shelf.path() / "elsewhere").code == 0);
  CHECK(Json::parse(content(unpacked / ".zenodo.json"))["license"] == "cc0-1.0");
  CHECK(contains(content(unpacked / "CITATION.cff"), "license: \"CC0-1.0\""));
  CHECK_FALSE(contains(free.err, "SPDX"));
  // What SPDX does not name is stated as it is, and only where any text may stand.
  const Outcome odd = shelf.run({"archive", "latest", "--license", "nosuch", "-o", "odd.tar.gz"});
  CHECK(contains(odd.err, "note: --license nosuch: psim knows no such SPDX identifier"));
  REQUIRE(process({"tar", "xzf", "../odd.tar.gz"}, shelf.path() / "elsewhere").code == 0);
  CHECK_FALSE(contains(content(unpacked / "CITATION.cff"), "license"));
  CHECK_FALSE(Json::parse(content(unpacked / ".zenodo.json")).contains("license"));
  CHECK(contains(content(unpacked / "LICENSE.txt"), "named below): nosuch."));
  // SPDX's names are the same in any case; files have them as SPDX writes them.
  shelf.run({"archive", "latest", "--license", "cc-by-4.0", "-o", "by.tar.gz"});
  REQUIRE(process({"tar", "xzf", "../by.tar.gz"}, shelf.path() / "elsewhere").code == 0);
  CHECK(contains(content(unpacked / "CITATION.cff"), "license: \"CC-BY-4.0\""));
}

TEST_CASE("an archive of what is not complete is refused, and says what is missing", "[shelf]") {
  const Shelf shelf;
  const fs::path study = shelf.path() / "studies" / shelf.study();
  shelf.run({"archive", "small.toml"}, 2);
  CHECK(contains(shelf.run({"archive", "latest", "-o", "studies"}, 2).err, "is a folder"));
  fs::rename(study / "study.db", shelf.path() / "study.db");
  CHECK(contains(shelf.run({"archive", "latest"}, 2).err, "study.db missing"));
  fs::rename(shelf.path() / "study.db", study / "study.db");
  lose_a_run(study);
  CHECK(contains(shelf.run({"archive", "latest"}, 2).err, "1 of 8 runs are missing"));
  CHECK_FALSE(shelf.has(shelf.study() + ".tar.gz"));
}

TEST_CASE("a study that a process works on stays where it is", "[shelf]") {
  const Shelf shelf;
  const fs::path study = shelf.path() / "studies" / shelf.study();
  // flock(1) holds what psim compare holds.
  const auto at_work = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"flock", "--shared", study.string(), binary().string(), "studies"});
    return process(words, shelf.path());
  };
  CHECK(contains(at_work({"rename", "latest", "new"}).err, "another process works on"));
  CHECK(contains(at_work({"remove", "latest"}).err, "another process works on"));
  CHECK(fs::exists(study / "manifest.json"));
  CHECK(
      contains(process({"flock", "--shared", study.string(), binary().string(), "studies"}, shelf.path()).out,
               "at work"));
}

TEST_CASE("a study cites what its runs and its table use", "[shelf][slow]") {
  const Shelf shelf;
  std::ofstream(shelf.path() / "uncertain.toml") << R"([model]
layers = [64, 10]
[training]
batch_size = 16
steps = 3
[compute]
time = "10ms"
distribution = "lognormal"
cv = 0.3
[cluster]
workers = 3
[compare]
consistency = ["bsp", "asp"]
seeds = [1, 2, 3, 4, 5, 6]
)";
  shelf.run({"compare", "uncertain.toml", "--out", "uncertain"});
  const std::string text = shelf.run({"cite", "uncertain"}).out;
  for (const char* key : {"[psim]", "[casanova2014simgrid]", "[guennebaud2010eigen]", "[valiant1990bsp]",
                          "[dean2012distbelief]", "[alpaydin1998digits]", "[holm1979]",
                          "[efron1979bootstrap]", "[silverman1986density]"}) {
    INFO(key);
    CHECK(contains(text, key));
  }
  for (const char* method : {"\n  intervals of ", "\n  p values"}) {  // each has a work of the bibliography
    const std::size_t line = text.find(method);
    REQUIRE(line != std::string::npos);
    CHECK(contains(text.substr(line, text.find('\n', line + 1) - line), "["));
  }
  CHECK_FALSE(contains(text, "[ho2013ssp]"));  // no arm is ssp
  CHECK_FALSE(contains(text, "[stein1945]"));  // nor was a pilot made
  shelf.run({"compare", "small.toml", "--until-ci", "90%", "--out", "ci"});
  CHECK(contains(shelf.run({"cite", "ci"}).out, "[stein1945]"));
  const std::string of_scenario = shelf.run({"cite", "small.toml"}).out;
  CHECK(contains(of_scenario, "[dean2012distbelief]"));
  CHECK_FALSE(contains(of_scenario, "[holm1979]"));  // a scenario has no table
  CHECK(shelf.run({"cite", "latest", "--bibtex"}).out.starts_with("@software{psim,"));
  shelf.run({"cite", "no-such-thing"}, 2);
}
