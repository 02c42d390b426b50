// Studies through the command line: what they keep, what they take over, and how they grow.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/study_place.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

TEST_CASE("a study is the same folder, however many processes make it and in whatever order",
          "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "one", "-j", "1"}).code == 0);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "two", "-j", "3"}).code == 0);
  for (const char* slice : {"3/3", "1/3", "2/3"})
    REQUIRE(place.psim({"compare", "scenario.toml", "--out", "parts", "--slice", slice}).code == 0);
  CHECK_FALSE(fs::exists(place.at("parts/study.json")));
  REQUIRE(place.psim({"merge", "parts"}).code == 0);
  CHECK(place.same("one", "two"));
  CHECK(place.same("one", "parts"));
  CHECK(place.psim({"compare", "one/scenario.toml", "--count"}).out == "8\n");
}

TEST_CASE("arms are compared within conditions, with the baseline that is asked for", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study", "--baseline", "asp"}).code == 0);
  const Json study = place.study("study");
  CHECK(study["baseline"] == "asp");
  REQUIRE(study["aggregates"].size() == 4);
  for (const Json& one : study["aggregates"]) {
    CHECK(one["versus_baseline"].is_null() == (one["arm"] == "asp"));
    CHECK(one["condition"].contains("cluster.servers"));
    CHECK(one["n"] == 2);
  }
  const Outcome wrong = place.psim({"compare", "scenario.toml", "--baseline", "as"});
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "did you mean `asp`?"));
}

TEST_CASE("a study takes over what others have of its runs, and only makes the rest", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--seeds", "1"}).code == 0);
  fs::path first;
  for (const auto& entry : fs::directory_iterator(place.at("studies"))) {
    if (!entry.is_symlink()) first = entry.path();
  }
  // What it has is believed: a lie in it comes back.
  std::string results = content(first / "results.jsonl");
  REQUIRE(place.psim({"compare", "scenario.toml", "--seeds", "1,2", "--slice", "1/1"}).code == 0);
  std::size_t lines = 0;
  for (const auto& entry : fs::recursive_directory_iterator(place.at("studies"))) {
    if (entry.path().parent_path().filename() != "results") continue;
    const std::string text = content(entry.path());
    lines += static_cast<std::size_t>(std::ranges::count(text, '\n'));
    CHECK(contains(text, results.substr(0, results.find('\n'))));
  }
  CHECK(lines == 12);  // eight runs, and the causes of the first of each arm and condition
}

TEST_CASE("the first run of each arm and condition is explained as psim why does", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const Json study = place.study("study");
  for (const Json& one : study["aggregates"]) {
    const Json& cause = one["cause"];
    REQUIRE(cause.is_object());
    const Json& runs = study["runs"];
    const auto run = std::ranges::find_if(runs, [&](const Json& other) {
      return other["arm"] == one["arm"] && other["condition"] == one["condition"] &&
             other["seed"] == cause["seed"];
    });
    REQUIRE(run != runs.end());
    CHECK(cause["seed"] == 1);
    std::vector<std::string> words{"run", "scenario.toml", "--trace", "events", "--seed",
                                   "1",   "--out",         "alone",   "--force"};
    for (const std::string& set :
         {"consistency=\"" + one["arm"].get<std::string>() + "\"",
          "cluster.servers=" + one["condition"]["cluster.servers"].get<std::string>()}) {
      words.push_back("--set");
      words.push_back(set);
    }
    REQUIRE(place.psim(words).code == 0);
    const Json alone = Json::parse(content(place.at("alone/summary.json")));
    CHECK(alone["scenario_hash"] == (*run)["run"]);
    const Json why = Json::parse(place.psim({"why", "alone", "--json"}).out);
    CHECK(cause["verdict"] == why["verdict"]);
    CHECK(cause["by_kind"] == why["by_kind"]);
    CHECK(cause["sentence"] == why["sentences"][0]);
    double sum = 0;
    for (const auto& [kind, seconds] : cause["by_kind"].items()) sum += seconds.get<double>();
    CHECK(std::abs(sum - cause["total_s"].get<double>()) < 1e-9 * sum);
  }
}

TEST_CASE("a study is replayed as a whole, and a changed result is found", "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const Outcome same = place.psim({"replay", "study"});
  INFO(same.out << same.err);
  CHECK(same.code == 0);
  CHECK(contains(same.out, "8 of 8 runs are the same"));
  CHECK(contains(same.out, "\npromise under fluid: the same digest on every x86-64 processor"));
  std::string results = content(place.at("study/results.jsonl"));
  const std::size_t digit = results.find("\"updates\":") + 10;
  results[digit] = results[digit] == '1' ? '2' : '1';
  std::ofstream(place.at("study/results.jsonl")) << results;
  // Its line no longer has its checksum.
  const Outcome damaged = place.psim({"replay", "study"});
  CHECK(damaged.code == 2);
  CHECK(contains(damaged.err, "is not complete"));
  const Outcome again = place.psim({"compare", "scenario.toml", "--out", "study"});
  CHECK(again.code == 0);
  CHECK(contains(again.err, "1 results in study are incomplete and do not count"));
  CHECK(place.psim({"replay", "study"}).code == 0);
}

TEST_CASE("every arm is tuned with equal effort, on seeds of its own", "[study][tune][slow]") {
  const Place place;
  place.write(tuned);
  const Outcome made = place.psim({"compare", "scenario.toml", "--out", "study"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  const Json tuning = place.study("study")["tuning"];
  CHECK(tuning["settings_per_arm"] == 4);
  CHECK(tuning["trials"] == 2 * 4 * 3);
  REQUIRE(tuning["best"].size() == 2);
  // A rate of 0.001 learns next to nothing in two epochs.
  for (const Json& best : tuning["best"])
    CHECK(best["sets"][0].get<std::string>() != "training.learning_rate=0.001");
  const Json study = place.study("study");
  CHECK(study["condition_axes"] == Json::array({"tuning"}));
  REQUIRE(study["aggregates"].size() == 4);
  for (const Json& run : study["runs"]) CHECK(run["seed"].get<int>() <= 2);
  // Tuned rows learn at least as well as untuned ones, on average over both arms.
  double sum[2] = {};
  for (const Json& one : study["aggregates"])
    sum[one["condition"]["tuning"] == "tuned"] += one["final_loss"]["mean"].get<double>();
  CHECK(sum[1] <= sum[0]);
  CHECK(contains(made.out, "tuned: the best of 4 settings"));
  CHECK(place.psim({"replay", "study"}).code == 0);
}

TEST_CASE("slices of a tuned study come in two rounds", "[study][tune][slow]") {
  const Place place;
  place.write(tuned);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "whole"}).code == 0);
  for (int round = 0; round < 2; ++round) {
    for (const char* slice : {"2/2", "1/2"})
      REQUIRE(place.psim({"compare", "scenario.toml", "--out", "parts", "--slice", slice}).code == 0);
  }
  // The first slice of the first round could not know the trials of the other.
  if (place.psim({"merge", "parts"}).code != 0) {
    REQUIRE(place.psim({"compare", "scenario.toml", "--out", "parts", "--slice", "2/2"}).code == 0);
    REQUIRE(place.psim({"merge", "parts"}).code == 0);
  }
  CHECK(place.same("whole", "parts"));
}

TEST_CASE("halving gives the better half more seeds until one setting is left", "[study][tune][slow]") {
  const Place place;
  place.write(std::string(tuned) + "method = \"halving\"\ntrials = 8\nseeds = [11, 12, 13, 14]\n");
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const Json tuning = place.study("study")["tuning"];
  // Of each arm 8 settings with one seed, then 4 with two, and 2 with four: 8 + 4 + 4 runs that are new.
  CHECK(tuning["trials"] == 2 * (8 + 4 + 4));
  CHECK(tuning["settings_per_arm"] == 8);
}

TEST_CASE("halving keeps the larger half of an odd number", "[study][tune]") {
  const Place place;
  const auto count = [&](int trials, int seeds) {
    std::string list;
    for (int seed = 11; seed < 11 + seeds; ++seed) list += (list.empty() ? "" : ", ") + std::to_string(seed);
    place.write(std::string(tuned) + "method = \"halving\"\ntrials = " + std::to_string(trials) +
                "\nseeds = [" + list + "]\n");
    return place.psim({"compare", "scenario.toml", "--count"}).out;
  };
  // Of each arm 5 settings with one seed, 3 with two and 2 with four: 5 + 3 + 4 runs that are new; and of the
  // study 8.
  CHECK(count(5, 4) == std::to_string(2 * (5 + 3 + 4) + 8) + "\n");
  // 7 with one, 4 with two, 2 with three.
  CHECK(count(7, 3) == std::to_string(2 * (7 + 4 + 2) + 8) + "\n");
  // 3 with one, 2 with two, and 1 with four.
  CHECK(count(3, 5) == std::to_string(2 * (3 + 2 + 2) + 8) + "\n");
}

TEST_CASE("what is wrong with tuning is said before anything runs", "[study][tune]") {
  const Place place;
  const auto error = [&](const std::string& text) {
    place.write(text);
    const Outcome outcome = place.psim({"compare", "scenario.toml", "--out", "study"});
    CHECK(outcome.code == 2);
    CHECK_FALSE(fs::exists(place.at("study/results")));
    return outcome.err;
  };
  const std::string base = std::string(scenario) + "[compare]\nseeds = [1, 2]\n";
  CHECK(contains(error(base + "[tune]\n\"training.learning_rate\" = [0.1]\n"), "needs a validation set"));
  const std::string held = "[data]\nvalidation_fraction = 0.2\n" + base;
  CHECK(contains(error(held + "[tune]\n"), "names no field"));
  CHECK(contains(error(held + "[tune]\n\"training.lerning_rate\" = [0.1]\n"), "lerning_rate"));
  CHECK(contains(error(held + "[tune]\n\"training.learning_rate\" = 0.1\n"), "has no values to try"));
  CHECK(contains(error(held + "[tune]\n\"training.learning_rate\" = { from = 1.0, to = 0.1 }\n"),
                 "has no values to try"));
  CHECK(contains(error(held + "[tune]\nmethod = \"best\"\n\"training.learning_rate\" = [0.1]\n"),
                 "must be one of: grid, random, halving"));
  CHECK(contains(error(held + "[tune]\nmethod = \"random\"\n\"training.learning_rate\" = [0.1]\n"),
                 "needs `trials`"));
  CHECK(contains(error(held + "[tune]\nseeds = [1, 1]\n\"training.learning_rate\" = [0.1]\n"),
                 "not a list of different seeds"));
  CHECK(contains(error(held + "[tune]\nseeds = [2, 3]\n\"training.learning_rate\" = [0.1]\n"),
                 "seed 2 is the study's own"));
}

TEST_CASE("as many seeds as an interval needs are decided once, by ten", "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) +
              "[compute]\ndistribution = \"exponential\"\ntime = \"10ms\"\n[compare]\nconsistency = "
              "[\"bsp\", \"asp\"]\n");
  const Outcome first = place.psim({"compare", "scenario.toml", "--until-ci", "2%", "--out", "study"});
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK(contains(first.err, "the first 10 seeds decided that"));
  const Json study = place.study("study");
  const std::size_t n = study["aggregates"][0]["n"];
  CHECK(n >= 10);
  CHECK(place.psim({"compare", "scenario.toml", "--until-ci", "2%", "--out", "again"}).code == 0);
  CHECK(place.same("study", "again"));
  // What was asked for and what became of it stays with the study.
  const Json until = study["until_ci"];
  CHECK(until["half_width"] == 0.02);
  CHECK(until["pilot_seeds"] == 10);
  CHECK(until["seeds"] == n);
  double widest = 0;
  for (const Json& one : study["aggregates"]) {
    const Json& versus = one["versus_baseline"];
    if (versus.is_null()) continue;
    const double half = versus["ratio_ci95"][1].get<double>() / versus["ratio"].get<double>() - 1;
    CHECK(versus["narrow"] == (half <= 0.02));
    widest = std::max(widest, half);
  }
  CHECK(until["widest"].get<double>() == widest);
  CHECK(until["narrow"] == (widest <= 0.02));
  const std::string line =
      "--until-ci 2%: the first 10 seeds decided that " + std::to_string(n) + " are needed";
  CHECK(contains(first.out, "psim compare scenario.toml --until-ci 2%"));
  for (const char* command : {"merge", "replay"}) CHECK(contains(place.psim({command, "study"}).out, line));
  CHECK(place.psim({"merge", "study", "--baseline", "asp"}).code == 0);
  CHECK(contains(place.psim({"replay", "study"}).out, line + ", with the baseline bsp"));
  for (const char* wrong : {"5", "0%", "x%", "200%", ""})
    CHECK(place.psim({"compare", "scenario.toml", "--until-ci", wrong}).code == 2);
  CHECK(place.psim({"compare", "scenario.toml", "--until-ci", "5%", "--slice", "1/2"}).code == 2);
}

TEST_CASE("merge shows a study again, with another baseline, and latest stays right", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml"}).code == 0);
  const Outcome again = place.psim({"merge", "studies/latest", "--baseline", "asp"});
  CHECK(again.code == 0);
  CHECK(fs::exists(place.at("studies/latest/study.json")));
  CHECK(place.study("studies/latest")["baseline"] == "asp");
  CHECK(place.psim({"merge", "latest", "--latex"}).code == 0);
  CHECK(place.psim({"merge", "latest", "--baseline", "zz"}).code == 2);
}

TEST_CASE("a trial that is missing is named, and its study is not complete", "[study][tune][slow]") {
  const Place place;
  place.write(tuned);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  std::string results = content(place.at("study/results.jsonl"));
  const std::string last = results.substr(results.rfind('\n', results.size() - 2) + 1);
  results.resize(results.size() - last.size());
  std::ofstream(place.at("study/results.jsonl")) << results;
  const Outcome merged = place.psim({"merge", "study"});
  CHECK(merged.code == 1);
  CHECK(contains(merged.out, "a trial of [tune]"));
  CHECK(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  CHECK(place.psim({"merge", "study"}).code == 0);
}

TEST_CASE("texts can be tuned as numbers can", "[study][tune]") {
  const Place place;
  std::string text = tuned;
  text.resize(text.find("\"training.learning_rate\""));
  place.write(text + "\"consistency.aggregation\" = [\"mean\", \"sum\"]\n");
  const Outcome made = place.psim({"compare", "scenario.toml", "--out", "study"});
  INFO(made.err);
  CHECK(made.code == 0);
  CHECK(place.study("study")["tuning"]["settings_per_arm"] == 2);
  // What belongs to [tune] is no axis.
  CHECK(place.psim({"compare", "scenario.toml", "--set", "tune.seeds=[31, 32]", "--count"}).out ==
        std::to_string(2 * 2 * 2 + 2 * 2 * 2) + "\n");
}

TEST_CASE("a folder that gets another study keeps what it had", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const Outcome other = place.psim({"compare", "scenario.toml", "--seeds", "5-5", "--out", "study"});
  CHECK(other.code == 0);
  CHECK(contains(other.err, "study held another study"));
  REQUIRE(
      place.psim({"compare", "scenario.toml", "--out", "study", "--slice", "1/1", "--seeds", "5-5"}).code ==
      0);
  std::ofstream(place.at("study/results/mine.jsonl")) << "what psim did not write\n";
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  CHECK(content(place.at("study/results/mine.jsonl")) == "what psim did not write\n");
}

TEST_CASE("a value that is there twice is refused before anything runs", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  for (const char* set : {"compare.seeds=[1, 1]", "cluster.workers=[2, 2]", "consistency=[bsp, bsp]"}) {
    const Outcome outcome = place.psim({"compare", "scenario.toml", "--set", set, "--out", "study"});
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.err, "twice"));
  }
  CHECK_FALSE(fs::exists(place.at("study")));
}

TEST_CASE("a manifest that is not what psim wrote is damaged, whatever is wrong with it", "[study][slow]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const Json good = place.manifest("study");
  const auto refused = [&](const char* pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    std::ofstream(place.at("study/manifest.json")) << bad.dump();
    for (const char* command : {"merge", "replay", "archive"}) {
      const Outcome outcome = place.psim({command, "study"});
      INFO(command << " with " << pointer << " = " << value.dump() << "\n" << outcome.err);
      CHECK(outcome.code == 2);
      CHECK_FALSE(contains(outcome.err, "json.exception"));
    }
  };
  refused("/schema", 1);
  refused("/runs", Json::array());
  refused("/runs/1/condition", "x");
  refused("/runs/1/seed", nullptr);
  refused("/condition_axes", 3);
  refused("/title", nullptr);
  refused("/baseline", "nobody");
}
