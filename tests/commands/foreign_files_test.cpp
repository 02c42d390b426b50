// Goal: nothing of somebody else's is lost, and no file of somebody else's harms: names that are paths,
// links, pipes, files without bound, forged runs and journals. Method: each, tried on the program.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/host.hpp"
#include "tests/support/run_psim.hpp"
#include "tests/support/student.hpp"
#include "tests/support/study_place.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void refuse(const Outcome& outcome, const std::string& part = "= help:") {
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.err, part));
}

// A study, and a copy of it whose files are changed.
struct Forged {
  Forged() {
    place.write(std::string(scenario) + axes);
    REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
    again();
  }
  void again() const {
    fs::remove_all(place.at("copy"));
    fs::copy(place.at("study"), place.at("copy"), fs::copy_options::recursive);
  }
  void set(const std::function<void(Json&)>& change) const {
    again();
    Json manifest = place.manifest("copy");
    change(manifest);
    put(place.at("copy/manifest.json"), manifest.dump(1));
  }
  // Changes the first summary of the journal, with a check that fits.
  void result(const std::function<std::string(const Json&)>& change) const {
    again();
    std::string line, rest;
    std::ifstream lines(place.at("study/results.jsonl"));
    std::getline(lines, line);
    for (std::string other; std::getline(lines, other);) rest += other + "\n";
    const std::string mark = ",\"summary\":";
    const std::size_t at = line.find(mark) + mark.size();
    const std::string summary = change(Json::parse(line.substr(at, line.size() - at - 1)));
    const std::size_t check = line.find("\"check\":\"") + 9;
    line = line.substr(0, at) + summary + "}";
    line.replace(check, 16, fmt::format("{:016x}", XXH3_64bits(summary.data(), summary.size())));
    put(place.at("copy/results.jsonl"), line + "\n" + rest);
  }
  Place place;
};

const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');

// As somebody who may not write everywhere, if psim is tested by somebody who may.
std::vector<std::string> as_nobody(std::vector<std::string> words) {
  if (geteuid() == 0) {
    const std::vector<std::string> other{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    words.insert(words.begin(), other.begin(), other.end());
  }
  return words;
}

}  // namespace

TEST_CASE("psim lab check removes nothing that is not its own, and follows no link", "[foreign][slow]") {
  Student student(2, "careful");
  const std::string answers = content(student.folder() / "answers.toml");
  const std::regex question("(^|\n)([a-z_]+) = \"\"");
  for (std::sregex_iterator one(answers.begin(), answers.end(), question), end; one != end; ++one)
    student.answer(one->str(2), "1");
  const TemporaryFolder home;
  const fs::path runs = student.folder() / "runs";
  const std::string photo = "the only copy";
  std::vector<fs::path> photos;
  const std::string lab = content(source_folder() / "docs/course/2-stragglers/lab.toml");
  const std::regex run("\\[\\[run\\]\\]\nname = \"([a-z_0-9]+)\"");
  for (std::sregex_iterator one(lab.begin(), lab.end(), run), end; one != end; ++one)
    photos.push_back(fs::path(one->str(1)) / "photos");
  REQUIRE(photos.size() > 1);
  for (const fs::path& path : photos) put(home.path() / path, photo);
  fs::create_directory_symlink(home.path(), runs);
  student.check();
  fs::remove(runs);
  for (const fs::path& path : photos) put(runs / path, photo);
  student.check();
  for (const fs::path& path : photos) {
    CHECK(content(home.path() / path) == photo);
    CHECK(content(runs / path) == photo);
  }
}

TEST_CASE("a name in somebody else's manifest is no path", "[foreign][slow]") {
  const Forged forged;
  const Place& place = forged.place;
  const std::string victim = content(place.at("scenario.toml"));
  for (const std::string& name : {std::string("../victim"), place.at("victim").string(), std::string(".."),
                                  std::string("a\nb"), std::string(300, 'a'), std::string()}) {
    put(place.at("victim.toml"), victim);
    forged.set([&](Json& manifest) { manifest["name"] = name; });
    refuse(place.psim({"compare", "scenario.toml", "--seeds", "3", "--out", "copy"}));
    for (const char* command : {"report", "replay", "cite", "archive", "merge"})
      refuse(place.psim({command, "./copy"}));
    CHECK(content(place.at("victim.toml")) == victim);
  }
  forged.set([](Json& manifest) { manifest["runs"][0]["run"] = "../../../secret1"; });
  refuse(place.psim({"report", "./copy"}));
}

TEST_CASE("an archive replaces no file of somebody else's, whatever its name", "[foreign]") {
  const Forged forged;
  const Place& place = forged.place;
  REQUIRE(place.psim({"archive", "./study", "-o", "host:one.tar.gz"}).code == 0);
  REQUIRE(place.psim({"archive", "./study", "-o", "two.tar.gz"}).code == 0);
  const std::string archive = content(place.at("two.tar.gz"));
  CHECK(archive == content(place.at("host:one.tar.gz")));
  CHECK(place.psim({"archive", "./study", "-o", "two.tar.gz"}).code == 0);  // its own
  CHECK(content(place.at("two.tar.gz")) == archive);
  put(place.at("photos/a.txt"), "mine");
  REQUIRE(process({"tar", "czf", "mine.tar.gz", "photos"}, place.at(".")).code == 0);
  put(place.at("text.tar.gz"), "mine");
  mkfifo(place.at("pipe.tar.gz").c_str(), 0600);
  for (const char* name : {"mine.tar.gz", "text.tar.gz", "pipe.tar.gz"}) {
    const std::string before = fs::is_regular_file(place.at(name)) ? content(place.at(name)) : "";
    refuse(place.psim({"archive", "./study", "-o", name}));
    if (!before.empty()) CHECK(content(place.at(name)) == before);
  }
  // The process of 2 to the 22nd and more has ended: Linux has none with such a number.
  const std::string left = fmt::format("two.tar.gz.new-{}-4194999", this_host());
  put(place.at(left), "half");
  put(place.at("two.tar.gz.new-else-4194999"), "of another machine");
  REQUIRE(place.psim({"archive", "./study", "-o", "two.tar.gz"}).code == 0);
  CHECK_FALSE(fs::exists(place.at(left)));
  CHECK(fs::exists(place.at("two.tar.gz.new-else-4194999")));
}

TEST_CASE("what cannot be removed is not said to be removed", "[foreign]") {
  const Place place;
  place.write(scenario);
  REQUIRE(place.psim({"run", "scenario.toml", "--out", "runs/one"}).code == 0);
  fs::permissions(place.at("."), fs::perms::all);
  fs::permissions(place.at("runs"), fs::perms(0555));
  const Outcome kept = process(as_nobody({binary().string(), "runs", "remove", "one"}), place.at("."));
  fs::permissions(place.at("runs"), fs::perms(0755));
  refuse(kept, "is unchanged");
  CHECK_FALSE(contains(kept.out, "removed"));
  CHECK(fs::exists(place.at("runs/one/run.db")));
}

TEST_CASE("what a killed psim leaves is gone after the next one", "[foreign]") {
  const Place place;
  place.write(
      std::string("[model]\nkind = \"phantom\"\nparameters = 1000\n[training]\nsteps = 20000\n"
                  "[cluster]\nworkers = 4\n"));
  const fs::path temporary = place.at("tmp");
  fs::create_directory(temporary);
  const std::string script = fmt::format(
      "export TMPDIR={0}; {1} run scenario.toml --out runs/a --trace events & sleep 0.5; kill -9 $!; "
      "wait; ls -d runs/a.psim-partial-*",
      temporary.string(), binary().string());
  const Outcome killed = process({"sh", "-c", script}, place.at("."));
  REQUIRE(contains(killed.out, "runs/a.psim-partial-"));
  put(temporary / "psim-archive-a1B2c3/.psim-scratch", "");
  put(temporary / "psim-archive-a1B2c3/files/x/run.db", "");
  fs::create_directory(temporary / "psim-mine-a1B2c4");  // somebody is about to use it
  fs::permissions(temporary / "psim-mine-a1B2c4", fs::perms::owner_all);
  put(temporary / "psim-photos-a1B2c5/me.jpg", "mine");
  place.write(scenario);
  const Outcome next = process(
      {"env", "TMPDIR=" + temporary.string(), binary().string(), "run", "scenario.toml", "--out", "runs/a"},
      place.at("."));
  REQUIRE(next.code == 0);
  CHECK(process({"ls", "runs"}, place.at(".")).out == "a\nlatest\n");
  CHECK(process({"ls", "tmp"}, place.at(".")).out == "psim-mine-a1B2c4\npsim-photos-a1B2c5\n");

  fs::copy(place.at("runs/a"), place.at("runs/a.psim-partial-5-0"));  // it was complete
  fs::copy(place.at("runs/a"), place.at("runs/b.psim-partial-5-0"));
  REQUIRE(place.psim({"run", "scenario.toml", "--out", "runs/a"}).code == 0);  // already done
  CHECK_FALSE(fs::exists(place.at("runs/a.psim-partial-5-0")));
  CHECK(fs::exists(place.at("runs/b.psim-partial-5-0")));
  refuse(place.psim({"compare", "scenario.toml", "--seeds", "1,2", "--out", "x.psim-partial-1-1"}),
         "name of an unfinished run");
}

TEST_CASE("a file that is nested without end is refused wherever psim reads it", "[foreign][slow]") {
  const Forged forged;
  const Place& place = forged.place;
  REQUIRE(place.psim({"run", "scenario.toml", "--trace", "events", "--out", "run"}).code == 0);
  const auto refused_run = [&](const std::vector<std::string>& words) {
    const Outcome outcome = place.psim(words);
    INFO(words[0] << " " << outcome.out << outcome.err);
    CHECK(outcome.code == 2);
  };
  const std::string summary = content(place.at("run/summary.json"));
  const std::string many = [] {
    std::string text = "{\"schema\": \"psim.summary/1\"";
    for (int i = 0; i < 100'000; ++i) text += fmt::format(",\"{}\":0", i);
    return text + "}";
  }();
  for (const std::string& text : {deep, "{\"schema\": \"psim.summary/1\", \"a\": " + deep + "}", many}) {
    put(place.at("run/summary.json"), text);
    for (const char* command : {"replay", "report", "why", "verify", "timeline", "what-if"})
      refused_run({command, "./run"});
  }
  put(place.at("run/summary.json"), summary);
  std::string dots = "a";
  for (int i = 0; i < 100'000; ++i) dots += ".a";
  put(place.at("run/scenario.toml"), dots + " = 1\n");
  refused_run({"replay", "./run"});  // the others read the facts of run.db
  forged.set([](Json& manifest) { manifest["deep"] = 7; });
  std::string manifest = content(place.at("copy/manifest.json"));
  put(place.at("copy/manifest.json"),
      manifest.replace(manifest.find("7", manifest.find("\"deep\"")), 1, deep));
  for (const char* command : {"replay", "report", "cite", "merge", "archive"})
    refused_run({command, "./copy"});
  forged.result([](const Json&) { return deep; });
  for (const char* command : {"replay", "report", "merge"}) refused_run({command, "./copy"});
}

TEST_CASE("a run.db whose tables are endless, or are none, is refused", "[foreign]") {
  const Place place;
  place.write(scenario);
  REQUIRE(place.psim({"run", "scenario.toml", "--trace", "events", "--out", "run"}).code == 0);
  const auto forged = [&](const std::string& sql, const std::vector<const char*>& readers) {
    fs::remove_all(place.at("copy"));
    fs::copy(place.at("run"), place.at("copy"));
    REQUIRE(process({"sqlite3", place.at("copy/run.db").string(), sql}).code == 0);
    for (const char* command : readers) {
      const Outcome outcome = psim::test::psim({command, "./copy"}, place.at("."), {}, 60);
      INFO(sql << command << outcome.out << outcome.err);
      CHECK(outcome.code == 2);
    }
  };
  if (process({"sh", "-c", "command -v sqlite3"}).code != 0) return;
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ";
  const std::vector<const char*> all{"replay", "why", "verify"};
  forged("DROP TABLE meta; CREATE VIEW meta AS " + endless + "SELECT i AS key, 'x' AS value FROM n", all);
  forged("DROP TABLE host; CREATE VIEW host AS " + endless + "SELECT i AS key, 'x' AS value FROM n",
         {"replay"});
  forged("DROP TABLE meta; CREATE VIRTUAL TABLE meta USING fts5(key, value)", all);
}

TEST_CASE("a forged study gives a diagnosis", "[foreign][slow]") {
  const Forged forged;
  const Place& place = forged.place;
  const std::vector<Json> wrong{nullptr, 7, "text", Json::array(), Json::object(), true, -1, 1e300};
  const auto tried = [&](const std::string& what) {
    for (const char* command : {"replay", "report", "cite", "merge"}) {
      const Outcome outcome = place.psim({command, "./copy"});
      INFO(what << " " << command << " " << outcome.out << outcome.err);
      CHECK(outcome.code <= 2);
    }
  };
  std::vector<std::string> keys;
  const Json manifest = place.manifest("study");
  for (const auto& [key, value] : manifest.items()) keys.push_back(key);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Json& other = wrong[i % wrong.size()];
    forged.set([&](Json& changed) { changed[keys[i]] = other; });
    tried(keys[i] + " = " + other.dump());
  }
  const Json summary = Json::parse(place.psim({"run", "scenario.toml", "--json"}).out);
  keys.clear();
  for (const auto& [key, value] : summary.items()) keys.push_back(key);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Json& other = wrong[(i + 3) % wrong.size()];
    forged.result([&](Json changed) {
      changed[keys[i]] = other;
      return changed.dump();
    });
    tried(keys[i] + " = " + other.dump());
  }
}

TEST_CASE("a pipe or a device in the place of a file is refused, and psim does not wait for it",
          "[foreign][slow]") {
  const Forged forged;
  const Place& place = forged.place;
  REQUIRE(place.psim({"run", "scenario.toml", "--trace", "events", "--out", "run"}).code == 0);
  const auto refused_with = [&](const std::string& file, const std::vector<std::string>& words) {
    const fs::path path = place.at(file), kept = place.at("kept");
    const bool is_there = fs::exists(path);
    if (is_there) fs::rename(path, kept);
    for (const bool is_pipe : {true, false}) {
      if (is_pipe) REQUIRE(mkfifo(path.c_str(), 0600) == 0);
      else fs::create_symlink("/dev/zero", path);
      const Outcome outcome = psim::test::psim(words, place.at("."), {}, 30);
      INFO(file << " " << words[0] << " " << outcome.code << outcome.out << outcome.err);
      CHECK((outcome.code == 1 || outcome.code == 2));
      fs::remove(path);
    }
    if (is_there) fs::rename(kept, path);
  };
  for (const char* file : {"run/run.db", "run/summary.json", "run/scenario.toml"}) {
    for (const char* command : {"replay", "why", "verify", "report"}) refused_with(file, {command, "./run"});
  }
  for (const char* file : {"copy/manifest.json", "copy/results.jsonl", "copy/scenario.toml"})
    refused_with(file, {"replay", "./copy"});
  refused_with("other.toml", {"fuzz", "--runs", "1", "--base", "other.toml"});
  refused_with("other.toml", {"check", "other.toml"});
  refused_with("trace.csv", {"check", "scenario.toml", "--set", "compute.distribution=trace", "--set",
                             "compute.trace=trace.csv"});
  refused_with("data.csv",
               {"check", "scenario.toml", "--set", "data.source=csv", "--set", "data.path=data.csv"});
  refused_with("hand.json", {"grade", "hand.json"});

  const Student student(6, "pipes");
  for (const char* file : {"answers.toml", "lab.json", "design.toml"}) {
    const fs::path path = student.folder() / file;
    fs::remove(path);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    for (const char* what : {"check", "hand-in", "status"}) {
      const Outcome outcome = psim::test::psim({"lab", what}, student.folder(), {}, 60);
      INFO(file << " " << what << " " << outcome.code << outcome.out << outcome.err);
      CHECK((outcome.code <= 2));
    }
    fs::remove(path);
  }
}

TEST_CASE("psim lab hand-in writes what psim grade takes, and replaces nothing else", "[foreign][slow]") {
  const Student student(6, "large");
  put(student.folder() / "design.toml", "# " + std::string(1'500'000, 'a') + "\n");
  refuse(psim::test::psim({"lab", "hand-in", "--out", "in.json"}, student.folder()));
  put(student.folder() / "design.toml",
      "# " + std::string(990'000, '"') + "\n");  // each takes two bytes in it
  refuse(psim::test::psim({"lab", "hand-in", "--out", "in.json"}, student.folder()));
  CHECK_FALSE(fs::exists(student.folder() / "in.json"));
  put(student.folder() / "design.toml", "");
  put(student.folder() / "thesis.json", "mine");
  refuse(psim::test::psim({"lab", "hand-in", "--out", "thesis.json"}, student.folder()));
  CHECK(content(student.folder() / "thesis.json") == "mine");
}

TEST_CASE("names of hand-ins make neither XML nor a spreadsheet ill", "[foreign]") {
  const TemporaryFolder folder;
  const std::string odd = "\xff\xef\xbf\xbf<\x01>.json";
  put(folder.path() / odd, "{}");
  put(folder.path() / "=cmd|' calc'!A0.json", "{}");
  put(folder.path() / "grades.csv", "my,own,grades\n");
  refuse(psim::test::psim({"grade", odd, "--csv", "grades.csv"}, folder.path()));
  const Outcome graded = psim::test::psim(
      {"grade", odd, "=cmd|' calc'!A0.json", "--junit", "j.xml", "--csv", "g.csv"}, folder.path());
  CHECK(graded.code == 1);
  const std::string xml = content(folder.path() / "j.xml");
  CHECK_FALSE(contains(xml, "\xff"));
  CHECK_FALSE(contains(xml, "\xef\xbf\xbf"));
  CHECK_FALSE(contains(xml, "\x01"));
  const std::string csv = content(folder.path() / "g.csv");
  CHECK(contains(csv, ",'=cmd|"));
  CHECK_FALSE(contains(csv, ",=cmd|"));
}

TEST_CASE("replay makes the trials of tuning again", "[foreign][slow]") {
  const Place place;
  place.write(tuned);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const Json manifest = place.manifest("study");
  const std::size_t all = manifest["runs"].size() + manifest["tuning"]["runs"].size();
  const Outcome same = place.psim({"replay", "./study"});
  INFO(same.out << same.err);
  CHECK(same.code == 0);
  CHECK(contains(same.out, fmt::format("{0} of {0} runs are the same", all)));
}
