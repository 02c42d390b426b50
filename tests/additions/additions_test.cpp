// Goal: an addition of any kind is one file; parser, help, reference, schema, fuzzer and simulation take it
// from there. Method: a psim with one addition of each kind beside the psim that knows none of them.
#include <array>
#include <fstream>
#include <map>
#include <set>

#include "sim/fuzz/generator.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

struct Addition {
  std::string name, feature, in_scenario, doc;
};
const std::vector<Addition> additions{
    {"clipped-mean", "consistency.aggregation clipped-mean",
     "[consistency]\naggregation = \"clipped-mean\"\nlongest = 0.5\n", "ICML 2013"},
    {"weibull", "compute.distribution weibull", "[compute]\ndistribution = \"weibull\"\nshape = 3.0\n",
     "Weibull 1951"},
    {"signum", "training.optimizer signum", "[training]\noptimizer = \"signum\"\nkept_share = 0.5\n",
     "ICML 2018"},
    {"truncate", "filter.kind truncate", "[[filter]]\nkind = \"truncate\"\nmantissa = 4\n",
     "Wang, Kanwar 2019"},
    {"fair-share", "consistency.model fair-share", "[consistency]\nmodel = \"equal-parts\"\nlead = 3\n",
     "an example"},
    {"jitter", "fault.kind jitter", "[[fault]]\nkind = \"jitter\"\ndelay = \"2ms\"\nprobability = 0.5\n",
     "exponential times of mean"},
    {"svm", "model.kind svm", "[model]\nkind = \"svm\"\nmargin = 0.5\n", "Tang 2013"},
    {"moons", "data.source moons", "[data]\nsource = \"moons\"\nsamples = 200\ngap = 0.5\n",
     "two half circles"},
    {"downpour", "preset downpour", "", "NIPS 2012"},
};

Outcome with_additions(const std::vector<std::string>& arguments, const std::filesystem::path& folder = ".") {
  std::vector<std::string> words{PSIM_WITH_ADDITIONS};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return process(words, folder);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A short run that uses `one`, or all of them.
std::string scenario_of(const std::vector<Addition>& used) {
  std::string text;
  if (used.size() > 1 || used.front().name == "downpour") text = "preset = \"downpour\"\n";
  // Two additions may have fields in one table, which a file has once.
  std::map<std::string, std::string> tables{{"[training]\n", "steps = 20\nbatch_size = 16\n"}};
  for (const Addition& one : used) {
    const std::size_t end = one.in_scenario.find('\n') + 1;
    tables[one.in_scenario.substr(0, end)] += one.in_scenario.substr(end);
  }
  if (used.size() == 1 && used.front().name == "moons") tables["[model]\n"] = "layers = [2, 8, 2]\n";
  for (const auto& [name, fields] : tables) text += name + fields;
  return text;
}

}  // namespace

TEST_CASE("an addition is explained, with its source", "[additions][slow]") {
  for (const Addition& one : additions) {
    CAPTURE(one.name);
    const Outcome said = with_additions({"explain", one.name});
    CHECK(said.code == 0);
    CHECK(has(said.out, one.name));
    CHECK(has(said.out, one.doc));
    CHECK(psim::test::psim({"explain", one.name}).code == 2);
  }
}

TEST_CASE("an addition is in the reference and in the schema", "[additions]") {
  const std::string reference = with_additions({"explain", "--reference"}).out,
                    schema = with_additions({"schema"}).out,
                    together = with_additions({"explain", "compatibility"}).out;
  for (const Addition& one : additions) {
    CAPTURE(one.name);
    CHECK(has(reference, "`" + one.name + "`"));
    CHECK(has(schema, "\"" + one.name + "\""));
  }
  CHECK(has(together, "| fair-share | `consistency.model = \"fair-share\"` | parameter servers |"));
  CHECK(
      has(together, "| truncate | `filter = [{kind = \"truncate\"}]` | separate batches for each worker |"));
  for (const std::string key : {"shape", "kept_share", "mantissa"}) {
    CAPTURE(key);
    CHECK(has(reference, "| `" + key + "` |"));
    CHECK(has(schema, "\"" + key + "\": {"));
  }
}

TEST_CASE("an addition is read, runs and is verified", "[additions][slow]") {
  std::vector<std::vector<Addition>> runs{additions};
  for (const Addition& one : additions) runs.push_back({one});
  for (const std::vector<Addition>& used : runs) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "a.toml") << scenario_of(used);
    INFO(scenario_of(used));
    const Outcome plain = psim::test::psim({"check", "a.toml"}, folder.path());
    CHECK(plain.code == 2);
    const Outcome run = with_additions({"run", "a.toml", "--trace", "events", "--out", "run"}, folder.path());
    INFO(run.err);
    CHECK(run.code == 0);
    const Outcome verdict = with_additions({"verify", "run"}, folder.path());
    INFO(verdict.out);
    CHECK(verdict.code == 0);
    CHECK(with_additions({"replay", "run"}, folder.path()).code == 0);
  }
}

TEST_CASE("the smallest model with code is bsp again", "[additions]") {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& model, int workers) {
    std::ofstream(folder.path() / "a.toml")
        << "[training]\nsteps = 20\nbatch_size = 16\n[consistency]\nmodel = \"" << model << "\"\n";
    return Json::parse(
        with_additions({"run", "a.toml", "--json", "--set", "cluster.workers=" + std::to_string(workers),
                        "--set", "compute.distribution=lognormal"},
                       folder.path())
            .out);
  };
  for (const int workers : {1, 4, 7}) {
    CAPTURE(workers);
    const Json own = run("bsp-again", workers), bsp = run("bsp", workers);
    CHECK(own["final"]["loss"].get<double>() == Approx(bsp["final"]["loss"].get<double>()).epsilon(1e-6));
    CHECK(own["updates"] == bsp["updates"]);
    CHECK(own["sim_time_s"].get<double>() == Approx(bsp["sim_time_s"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE("a setting of an addition has its range, and a meaning beside its row only", "[additions]") {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& set, const std::string& also) {
    std::ofstream(folder.path() / "a.toml") << "[training]\nsteps = 3\n[compute]\n" << set << "\n";
    const Outcome said = with_additions({"check", "a.toml"}, folder.path());
    INFO(said.err);
    CHECK(said.code == 2);
    CHECK(has(said.err, also));
  };
  check("distribution = \"weibull\"\nshape = 0.01", "out-of-range");
  check("distribution = \"gamma\"\nshape = 2.0", "`shape` belongs to distribution = weibull");
}

TEST_CASE("an added model is refused for data that it cannot learn from", "[additions]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "a.toml")
      << "[data]\nsource = \"teacher\"\n[model]\nkind = \"svm\"\n[training]\nsteps = 2\n";
  const Outcome said = with_additions({"check", "a.toml"}, folder.path());
  INFO(said.err);
  CHECK(said.code == 2);
  CHECK(has(said.err, "svm learns classes"));
  CHECK(has(said.err, "teacher has targets"));
}

TEST_CASE("the fuzzer draws additions, with their settings", "[additions][slow]") {
  std::set<std::string> drawn;
  std::string texts;
  for (std::uint64_t run = 0; run < 3000; ++run) {
    const auto draft = psim::fuzz::draw(1, run, 0);
    drawn.merge(psim::fuzz::features(draft));
    texts += to_toml(draft);
  }
  for (const Addition& one : additions) {
    CAPTURE(one.feature);
    CHECK(drawn.contains(one.feature));
  }
  for (const std::string key : {"shape = 1.5", "kept_share = 0.5", "mantissa = 11"}) CHECK(has(texts, key));
  const Outcome fuzz = with_additions({"fuzz", "--seed", "3", "--runs", "40"});
  INFO(fuzz.out);
  CHECK(fuzz.code == 0);
}
