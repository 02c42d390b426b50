// `psim replay` runs a recorded run again and names the first event that differs.
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/run_file.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* scenario = R"(seed = 7
[model]
layers = [64, 16, 10]
[training]
batch_size = 8
steps = 20
[consistency]
model = "asp"
[cluster]
workers = 3
[compute]
distribution = "gamma"
)";

class Recorded {
 public:
  explicit Recorded(const std::string& trace) {
    std::ofstream(folder_.path() / "scenario.toml") << scenario;
    const Outcome made =
        psim::test::psim({"run", "scenario.toml", "--out", "run", "--trace", trace}, folder_.path());
    INFO(made.err);
    REQUIRE(made.code == 0);
  }
  fs::path run() const { return folder_.path() / "run"; }
  Outcome replay(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"replay", "run"};
    words.insert(words.end(), more.begin(), more.end());
    return psim::test::psim(words, folder_.path());
  }
  void change_scenario(const std::string& from, const std::string& to) const {
    std::string text = content(run() / "scenario.toml");
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    std::ofstream(run() / "scenario.toml") << text.replace(at, from.size(), to);
  }

 private:
  TemporaryFolder folder_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The event's number, from "first event that differs: number N".
int first_difference(const std::string& text) {
  const std::string words = "first event that differs: number ";
  const std::size_t at = text.find(words);
  return at == std::string::npos ? -1 : std::stoi(text.substr(at + words.size()));
}

}  // namespace

TEST_CASE("replay of an untouched run says that it is the same", "[replay]") {
  for (const char* trace : {"none", "events"}) {
    const Recorded recorded(trace);
    const std::string digest = Json::parse(std::ifstream(recorded.run() / "summary.json"))["digest"];
    for (const char* threads : {"1", "3"}) {
      const Outcome outcome = recorded.replay({"--threads", threads});
      INFO(outcome.out << outcome.err);
      CHECK(outcome.code == 0);
      CHECK(contains(outcome.out, "same run: digest " + digest));
      CHECK(contains(outcome.out, "\npromise under fluid: the same digest on every x86-64 processor"));
      CHECK_FALSE(contains(outcome.out, "to be expected"));
    }
  }
}

TEST_CASE("replay with another seed names the first event that differs, and what was recorded", "[replay]") {
  const Recorded recorded("events");
  recorded.change_scenario("seed = 7", "seed = 8");
  const Outcome outcome = recorded.replay();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.out, "different run"));
  const int first = first_difference(outcome.out);
  REQUIRE(first >= 0);
  // Nobody has drawn a random number before the first connection's latency is over.
  const RecordedEvent before = events_of(recorded.run()).at(static_cast<std::size_t>(first));
  CHECK(before.at > 0);
  CHECK(contains(outcome.out, "recorded: "));
  CHECK(contains(outcome.out, " " + before.table + ": "));
}

TEST_CASE("replay says whether another digest was to be expected", "[replay]") {
  const Recorded recorded("none");
  recorded.change_scenario("seed = 7", "seed = 8");
  CHECK(contains(recorded.replay().out, "\nno difference was to be expected\n"));
  const fs::path file = recorded.run() / "summary.json";
  Json summary = Json::parse(std::ifstream(file));
  const std::string release = summary["libraries"]["simgrid"];
  summary["libraries"]["simgrid"] = "0.1";
  std::ofstream(file) << summary.dump(2) << "\n";
  const Outcome outcome = recorded.replay();
  INFO(outcome.out << outcome.err);
  CHECK(contains(outcome.out, "\na difference was to be expected: SimGrid was 0.1 and is " + release + "\n"));
  CHECK(contains(outcome.out, "\npromise under fluid for another release of SimGrid"));
}

TEST_CASE("replay after a change that no event shows says that weights differ", "[replay]") {
  const Recorded recorded("none");
  recorded.change_scenario("learning_rate = 0.1", "learning_rate = 0.2");
  const Outcome outcome = recorded.replay();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.out, "weights differ"));
}

TEST_CASE("replay after one byte of the recorded hashes was changed names that event", "[replay]") {
  for (const char* trace : {"none", "events"}) {
    const Recorded recorded(trace);
    // Four bytes an event: byte 41 belongs to event 10.
    change_run(recorded.run(),
               "UPDATE event_hash SET hashes = CAST(substr(hashes, 1, 40) || "
               "CASE WHEN substr(hashes, 41, 1) = x'00' THEN x'01' ELSE x'00' END || substr(hashes, 42) AS "
               "BLOB) WHERE block = 0");
    const Outcome outcome = recorded.replay();
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(first_difference(outcome.out) == 10);
  }
}

TEST_CASE("replay of a run whose last events were cut off says so", "[replay]") {
  const Recorded recorded("none");
  change_run(recorded.run(),
             "UPDATE event_hash SET hashes = substr(hashes, 1, length(hashes) - 8) WHERE block = 0");
  const Outcome outcome = recorded.replay();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.out, "first event that differs"));
  CHECK(contains(outcome.out, "the run had ended"));
}

TEST_CASE("replay names the first value of the summary that is not what comes out", "[replay]") {
  const Recorded recorded("none");
  const fs::path file = recorded.run() / "summary.json";
  const Json summary = Json::parse(std::ifstream(file));
  const auto replay_with = [&](const Json& changed) {
    std::ofstream(file) << changed.dump(2) << "\n";
    const Outcome outcome = recorded.replay();
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    return outcome.out;
  };
  Json better = summary;
  better["final"]["accuracy"] = 1.0;
  const std::string now = summary["final"]["accuracy"].dump();
  CHECK(contains(replay_with(better), "differs: final.accuracy\n  now:      " + now + "\n  recorded: 1.0\n"));
  Json shorter = summary;
  shorter["curve"].erase(0);
  CHECK(contains(replay_with(shorter), "differs: curve.0"));
  Json less = summary;
  less["workers"][1].erase("clocks");
  CHECK(contains(replay_with(less), "differs: workers.1"));
  Json more = summary;
  more["prize"] = true;
  CHECK(contains(replay_with(more), "differs: prize\n  now:      nothing\n  recorded: true\n"));
  // Made by another program, its name and version may be what they are, but no number.
  Json other = summary;
  other["build"] = "0123456789abcdef";
  other["final"]["loss"] = 0.0;
  CHECK(contains(replay_with(other), "differs: final.loss"));
}

TEST_CASE("replay notices a table of run.db that was edited", "[replay]") {
  const Recorded recorded("none");
  const std::string checksums = content(recorded.run() / "checksums");
  change_run(recorded.run(), "UPDATE worker SET clocks = clocks + 1");
  std::ofstream(recorded.run() / "checksums") << checksums;
  const Outcome outcome = recorded.replay();
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.out, "run.db has changed since it was written"));
}
