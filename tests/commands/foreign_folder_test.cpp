// Goal: in a folder of psim's, too, nothing of somebody else's is lost. Method: files and links under the
// names that psim uses there, and commands that write and remove.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"
#include "tests/support/study_place.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("a study's folder may hold somebody else's files under psim's names, and they stay",
          "[foreign][slow]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const auto again = [&] {
    fs::remove_all(place.at("copy"));
    fs::copy(place.at("study"), place.at("copy"), fs::copy_options::recursive);
  };
  again();
  const std::string mine = "my thesis";
  const std::vector<std::string> compare{"compare", "scenario.toml", "--out", "copy"};
  for (const char* name : {"runs", "results"}) {
    put(place.at("copy") / name, mine);
    CHECK(place.psim(compare).code == 2);
    place.psim({"studies", "remove", "./copy"});
    CHECK(content(place.at("copy") / name) == mine);
    again();
    fs::create_directory(place.at("elsewhere"));
    put(place.at("elsewhere/other.jsonl"), content(place.at("study/results.jsonl")));
    fs::create_directory_symlink("../elsewhere", place.at("copy") / name);
    CHECK(place.psim(compare).code == 2);
    place.psim({"merge", "./copy"});
    place.psim({"studies", "remove", "./copy"});
    CHECK(fs::is_symlink(fs::symlink_status(place.at("copy") / name)));
    CHECK(content(place.at("elsewhere/other.jsonl")) == content(place.at("study/results.jsonl")));
    fs::remove_all(place.at("elsewhere"));
    again();
  }
  // An earlier result is written to a file of its own, not through a link.
  put(place.at("victim"), mine);
  fs::create_directory(place.at("copy/results"));
  fs::create_symlink("../../victim", place.at("copy/results/earlier.jsonl"));
  CHECK(place.psim({"compare", "scenario.toml", "--seeds", "1", "--out", "copy"}).code == 0);
  CHECK(content(place.at("victim")) == mine);
  // Names that look like psim's
  again();
  const std::vector<std::string> names{"scenario.toml.1", "study.json.20251126",   "runs.csv-2",
                                       ".new-ideas",      "report.html.new-draft", "results/mine.jsonl"};
  for (const std::string& name : names) put(place.at("copy") / name, mine);
  place.psim({"studies", "remove", "./copy"});
  for (const std::string& name : names) {
    INFO(name);
    CHECK(content(place.at("copy") / name) == mine);
  }
  // Of a name in a forged manifest
  again();
  Json manifest = place.manifest("copy");
  manifest["name"] = "notes";
  put(place.at("copy/manifest.json"), manifest.dump(1));
  put(place.at("copy/notes.toml"), mine);
  place.psim({"compare", "scenario.toml", "--seeds", "1", "--out", "copy"});
  CHECK(content(place.at("copy/notes.toml")) == mine);
}

TEST_CASE("a link to nowhere is no folder, and stays", "[foreign]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  fs::create_symlink("nowhere", place.at("link"));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"compare", "scenario.toml", "--out", "link"}, {"fuzz", "--runs", "1", "--out", "link"}}) {
    CHECK(place.psim(words).code == 2);
    CHECK(fs::is_symlink(fs::symlink_status(place.at("link"))));
  }
}
