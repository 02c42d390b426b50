// Goal: what is larger than memory or disk has room for is said so, with one exit code for a full disk.
// Method: data files of gigabytes that take no room, and limits on the size of files.
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/study_place.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

void refuse(const Outcome& outcome, const std::string& part) {
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.err, part));
}

}  // namespace

TEST_CASE("data files have a bound, and psim says so at once", "[foreign][slow]") {
  const Place place;
  place.write(scenario);
  std::ofstream(place.at("trace.csv")) << "1";
  fs::resize_file(place.at("trace.csv"), 3'000'000'000);
  const auto check = [&](const std::vector<std::string>& sets) {
    std::vector<std::string> words{
        "sh", "-c", "ulimit -v 3000000; exec \"$0\" \"$@\"", binary().string(), "check", "scenario.toml"};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    return process(words, place.at("."));
  };
  refuse(check({"compute.distribution=trace", "compute.trace=trace.csv"}), "too large");
  fs::resize_file(place.at("trace.csv"), 500'000'000);
  refuse(check({"compute.distribution=trace", "compute.trace=trace.csv"}), "it is not a text of numbers");
  const gzFile bomb = gzopen(place.at("bomb.csv.gz").c_str(), "wb1");
  for (const std::string part = std::string(1U << 20U, '0'); gztell(bomb) < 4'500'000'000;)
    gzwrite(bomb, part.data(), static_cast<unsigned>(part.size()));
  gzclose(bomb);
  refuse(check({"data.source=csv", "data.path=bomb.csv"}), "it is not a text of numbers");
}

TEST_CASE("a full disk has one exit code", "[foreign]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  const auto full = [&](const std::string& words) {
    // A file that would grow beyond 4 kB is refused, as on a full disk.
    const Outcome outcome =
        process({"sh", "-c", "ulimit -f 8; exec " + binary().string() + " " + words}, place.at("."));
    INFO(words << " " << outcome.out << outcome.err);
    CHECK(outcome.code == 3);
    CHECK(contains(outcome.err, "error: "));
  };
  full("run scenario.toml --trace events --out run");
  full("compare scenario.toml --out study");
  full("run scenario.toml --seed 3 --set training.steps=2000 --out other");
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "good"}).code == 0);
  full("archive ./good -o good.tar.gz");
  full("report ./good -o page.html");
  full("export ./good --svg charts");
  CHECK_FALSE(fs::exists(place.at("good.tar.gz")));
  CHECK_FALSE(fs::exists(place.at("run")));
}
