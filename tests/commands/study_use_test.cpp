// Studies through the command line: what may be asked for, what is said, and what is read of files that
// others may have changed.
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/study_place.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

// The check of a journal's line, as psim computes it.
std::string checksum(const std::string& text) {
  char digits[17] = "";
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return digits;
}

}  // namespace

TEST_CASE("seeds come as a list, as ranges, or as both", "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) + "[compare]\nconsistency = [\"bsp\", \"asp\"]\n");
  const auto count = [&](const char* seeds) {
    return place.psim({"compare", "scenario.toml", "--seeds", seeds, "--count"}).out;
  };
  CHECK(count("1-1000") == "2000\n");
  CHECK(count("1-5,9") == "12\n");
  CHECK(count("1, 2,3") == "6\n");
  CHECK(count("7-7") == "2\n");
  const auto error = [&](const char* seeds) {
    const Outcome outcome = place.psim({"compare", "scenario.toml", "--seeds", seeds, "--count"});
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(contains(error("5-1"), "did you mean 1-5?"));
  CHECK(contains(error("1-"), "`1-` is neither a seed"));
  CHECK(contains(error("1-1000000000000"), "more than 10000 seeds"));
  CHECK(contains(error("0-9000000000000000,1"), "more than 10000 seeds"));
  CHECK(contains(error("1,,2"), "an entry is empty"));
  CHECK(contains(error("1,2,"), "an entry is empty"));
  CHECK(contains(error("1-2-3"), "neither a seed"));
  CHECK(contains(error("99999999999999999999"), "neither a seed"));
  CHECK(contains(error("1-5,3"), "twice"));
}

TEST_CASE("options that exclude or need each other are refused", "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const auto refused = [&](std::vector<std::string> words) {
    const Outcome outcome = place.psim(words);
    INFO(words[0] << " " << words[2] << "\n" << outcome.err);
    CHECK(outcome.code == 2);
    CHECK((contains(outcome.err, " excludes ") || contains(outcome.err, " requires ")));
  };
  refused({"merge", "study", "--json", "--latex"});
  refused({"merge", "study", "--json", "--markdown"});
  refused({"merge", "study", "--markdown", "--latex"});
  refused({"merge", "study", "--wide", "--columns", "p"});
  refused({"merge", "study", "--json", "--columns", "p"});
  refused({"compare", "scenario.toml", "--slices", "3"});
  refused({"compare", "scenario.toml", "--count", "--recipe", "slurm"});
  refused({"compare", "scenario.toml", "--count", "--json"});
  refused({"compare", "scenario.toml", "--slice", "1/2", "--latex"});
  // A blank before a name is none of it.
  const Outcome blank = place.psim({"merge", "study", "--columns", "time, p"});
  CHECK(blank.out == place.psim({"merge", "study", "--columns", "time,p"}).out);
  CHECK(place.psim({"merge", "study", "--columns", " p"}).code == 0);
}

TEST_CASE("results that are damaged are named, whatever is wrong with them", "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const std::string good = content(place.at("study/results.jsonl"));
  const std::size_t begin = good.find(",\"summary\":") + 11, end = good.find('\n') - 1;
  const Json summary = Json::parse(good.substr(begin, end - begin));
  // With a checksum that fits: no disk did this.
  const auto forged = [&](const std::string& text) {
    const std::string line = good.substr(0, begin);
    const std::size_t check = line.find("\"check\":\"") + 9;
    std::ofstream(place.at("study/results.jsonl"))
        << line.substr(0, check) << checksum(text) << line.substr(check + 16) << text << good.substr(end);
    for (const char* command : {"merge", "replay"}) {
      const Outcome outcome = place.psim({command, "study"});
      INFO(command << "\n" << text.substr(0, 200) << "\n" << outcome.err);
      CHECK(outcome.code == 2);
      CHECK(contains(outcome.err, "is not a summary: "));
    }
    CHECK(place.psim({"runs", "--study", "study"}).code == 0);
  };
  const auto changed = [&](const char* pointer, const Json& value) {
    Json bad = summary;
    bad[Json::json_pointer(pointer)] = value;
    forged(bad.dump());
  };
  const auto without = [&](const char* key) {
    Json bad = summary;
    bad.erase(key);
    forged(bad.dump());
  };
  for (const char* key : {"target", "staleness", "time", "final", "notes", "curve", "stuck", "sim_time_s"})
    without(key);
  changed("/target/given", 1);
  changed("/target", {{"given", true}, {"reached", true}});
  changed("/sim_time_s", -1);
  changed("/sim_time_s", 1e300);
  changed("/notes", Json::array({1}));
  changed("/stuck", Json::array({1}));
  changed("/curve", Json::array({{{"sim_time_s", 2}}, {{"sim_time_s", 1}}}));
  changed("/final/loss", "small");
  changed("/failures", Json::object());
  forged("[]");
  forged("{");
  forged(std::string(100'000, '[') + std::string(100'000, ']'));
  std::ofstream(place.at("study/results.jsonl")) << good;
  CHECK(place.psim({"merge", "study"}).code == 0);
}

TEST_CASE("two results of one run that contradict each other make no table", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const std::string good = content(place.at("study/results.jsonl"));
  const std::string line = good.substr(0, good.find('\n') + 1);
  const auto with = [&](const std::string& more) {
    fs::create_directories(place.at("study/results"));
    std::ofstream(place.at("study/results/other-1-0.jsonl")) << more;
    return place.psim({"merge", "study"});
  };
  CHECK(with(line).code == 0);  // the same once more
  const std::size_t begin = line.find(",\"summary\":") + 11;
  Json other = Json::parse(line.substr(begin, line.size() - begin - 2));
  other["updates"] = other["updates"].get<int>() + 1;
  const std::size_t check = line.find("\"check\":\"") + 9;
  const std::string text = other.dump();
  const Outcome wrong = with(line.substr(0, check) + checksum(text) +
                             line.substr(check + 16, begin - check - 16) + text + "}\n");
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "has two different results of run "));
}

TEST_CASE("a column that there is not is refused before anything runs", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  const Outcome wrong = place.psim({"compare", "scenario.toml", "--out", "study", "--columns", "tiem"});
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "did you mean `time`?"));
  CHECK_FALSE(fs::exists(place.at("study")));
}

TEST_CASE("a study that psim cannot write to is shown all the same", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const auto read_only = [&](const std::vector<std::string>& words) {
    // Who may do everything gives that away first.
    std::vector<std::string> all;
    if (process({"id", "-u"}).out == "0\n")
      all = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    all.push_back(binary().string());
    all.insert(all.end(), words.begin(), words.end());
    return process(all, place.at("."));
  };
  fs::permissions(place.at("."), fs::perms(0755));
  process({"chmod", "-R", "a-w,a+rX", "study"}, place.at("."));
  const Outcome merged = read_only({"merge", "study", "--baseline", "asp"});
  INFO(merged.out << merged.err);
  CHECK(merged.code == 0);
  CHECK(contains(merged.err, "psim cannot write to"));
  CHECK(Json::parse(read_only({"merge", "study", "--baseline", "asp", "--json"}).out)["baseline"] == "asp");
  CHECK(place.study("study")["baseline"] == "bsp");
  CHECK(contains(read_only({"replay", "study"}).out, "8 of 8 runs are the same"));
  process({"chmod", "-R", "u+w", "study"}, place.at("."));
}

TEST_CASE("verify takes the names that replay takes, of runs", "[study]") {
  const Place place;
  place.write(scenario);
  CHECK(contains(place.psim({"verify", "latest"}).err, "there is no run `latest`"));
  REQUIRE(place.psim({"run", "scenario.toml", "--trace", "events"}).code == 0);
  const Outcome verdict = place.psim({"verify", "latest"});
  CHECK(verdict.code == 0);
  CHECK(contains(verdict.out, "holds"));
  CHECK(place.psim({"verify", "runs/latest"}).code == 0);
}

TEST_CASE("replay takes the names that merge takes", "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  CHECK(contains(place.psim({"replay", "latest"}).err, "there is no run or study `latest`"));
  REQUIRE(place.psim({"run", "scenario.toml"}).code == 0);
  CHECK(contains(place.psim({"replay", "latest"}).out, "same run: "));
  REQUIRE(place.psim({"compare", "scenario.toml"}).code == 0);
  const Outcome study = place.psim({"replay", "latest"});
  CHECK(contains(study.out, "8 of 8 runs are the same"));
  CHECK(contains(study.err, "the latest run is runs/latest"));
  CHECK(place.psim({"replay", fs::read_symlink(place.at("studies/latest")).string()}).code == 0);
}

TEST_CASE("check, --count and compare count the same runs", "[study][tune][slow]") {
  const Place place;
  place.write(tuned);
  const std::string words = "32 runs (24 trials of [tune] and 8 of the study)";
  CHECK(contains(place.psim({"check", "scenario.toml"}).err, words));
  const Outcome count = place.psim({"compare", "scenario.toml", "--count"});
  CHECK(count.out == "32\n");
  CHECK(contains(count.err, words));
  CHECK(contains(place.psim({"compare", "scenario.toml"}).out, words));
  const Json listed = Json::parse(place.psim({"studies", "--json"}).out)["studies"][0];
  CHECK(listed["runs"] == 32);
  CHECK(listed["done"] == 32);
  CHECK(listed["trials"] == 24);
}

TEST_CASE("every setting that was tried is kept with its score", "[study][tune][slow]") {
  const Place place;
  place.write(std::string(tuned) +
              "method = \"halving\"\ntrials = 8\nseeds = [11, 12, 13, 14]\n"
              "measure = \"accuracy\"\n");
  const Outcome made = place.psim({"compare", "scenario.toml", "--out", "study"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  const Json tuning = place.study("study")["tuning"];
  REQUIRE(tuning["settings"].size() == 2 * 8);
  std::map<std::string, std::vector<int>> rungs;
  for (const Json& one : tuning["settings"]) {
    const int rung = one["rung"];
    rungs[one["arm"]].push_back(rung);
    CHECK(one["seeds"] == (1 << (rung - 1)));
    CHECK(one["score"].get<double>() >= 0);  // an accuracy
    CHECK(one["score"].get<double>() <= 1);
    CHECK(one["values"].contains("training.learning_rate"));
    if (!one["chosen"].get<bool>()) continue;
    CHECK(rung == 3);
    const Json& best = tuning["best"][one["arm"] == "bsp" ? 0 : 1];
    CHECK(best["score"] == one["score"]);
    CHECK(best["sets"][0] ==
          "training.learning_rate=" + one["values"]["training.learning_rate"].get<std::string>());
  }
  for (auto& [arm, own] : rungs) {
    std::ranges::sort(own);
    CHECK(own == std::vector<int>{1, 1, 1, 1, 2, 2, 3, 3});
  }
  const std::string csv = content(place.at("study/trials.csv"));
  CHECK(csv.starts_with("arm,training.learning_rate,rung,seeds,score,chosen\r\n"));
  CHECK(std::ranges::count(csv, '\n') == 17);
}

TEST_CASE("numbers of the study's scenario are as short as they can be", "[study]") {
  const Place place;
  place.write("[data]\nvalidation_fraction = 0.2\n" + std::string(scenario) +
              "[[fault]]\nkind = \"slow\"\nnodes = [\"worker 0\"]\nat = \"1ms\"\nfactor = 0.3\n" + axes);
  const Outcome made =
      place.psim({"compare", "scenario.toml", "--out", "study", "--set", "training.learning_rate=0.1"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  const std::string text = content(place.at("study/scenario.toml"));
  CHECK(contains(text, "validation_fraction = 0.2\n"));
  CHECK(contains(text, "learning_rate = 0.1\n"));
  CHECK(contains(text, "[[fault]]\n"));
  CHECK(contains(text, "factor = 0.3\n"));
  CHECK(place.psim({"compare", "study/scenario.toml", "--out", "study"}).code == 0);
  CHECK(contains(place.psim({"replay", "study"}).out, "8 of 8 runs are the same"));
}

TEST_CASE("a target on the validation set is not judged by the accuracy that is shown", "[study]") {
  const Place place;
  const std::string target = "target = { accuracy = 0.1 }\n";
  const std::string text =
      std::string(scenario).insert(std::string(scenario).find("[cluster]"), target) + axes;
  place.write(text);
  CHECK_FALSE(
      contains(place.psim({"compare", "scenario.toml"}).out, "Runs reach the target on the validation set"));
  place.write("[data]\nvalidation_fraction = 0.2\n" + text);
  CHECK(
      contains(place.psim({"compare", "scenario.toml"}).out, "Runs reach the target on the validation set"));
}

TEST_CASE("every name in study.json is explained", "[study][slow]") {
  const Place place;
  place.write(tuned);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study", "--until-ci", "90%"}).code == 0);
  const Json study = place.study("study");
  std::set<std::string> names;
  const auto add = [&](const Json& object) {
    for (const auto& [key, value] : object.items()) names.insert(key);
  };
  add(study);
  add(study["until_ci"]);
  add(study["tuning"]);
  add(study["tuning"]["best"][0]);
  add(study["tuning"]["settings"][0]);
  for (const Json& one : study["aggregates"]) {
    add(one);
    if (!one["versus_baseline"].is_null()) add(one["versus_baseline"]);
  }
  for (const char* known : {"psim", "cpu_family", "build", "name", "title"}) names.erase(known);
  for (const char* other : {"budget", "restricted_mean_s", "widest", "ratios"}) names.insert(other);
  for (const std::string& name : names) {
    INFO(name);
    CHECK(place.psim({"explain", name}).code == 0);
  }
}

TEST_CASE("what helps next fits the study", "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) +
              "[compute]\ndistribution = \"exponential\"\ntime = \"10ms\"\n"
              "[compare]\nconsistency = [\"bsp\", \"ssp 3\", \"asp\"]\nseeds = [1, 2]\n");
  const Outcome made = place.psim({"compare", "scenario.toml", "--out", "study"});
  const std::string next = made.out.substr(made.out.find('\n', made.out.find("\nnext: ") + 1) + 1);
  CHECK(std::ranges::count(next, '\n') == 3);
  CHECK((contains(next, "psim merge study --baseline ") || contains(next, "--until-ci 5%")));
  std::size_t begin = 0;
  while (begin < next.size()) {  // each line is a command that works as it stands
    const std::size_t end = next.find('\n', begin);
    const std::string line = next.substr(begin, end - begin);
    INFO(line);
    CHECK(process({"sh", "-c", "psim() { '" + binary().string() + "' \"$@\"; }\n" + line}, place.at("."))
              .code == 0);
    begin = end + 1;
  }
}
