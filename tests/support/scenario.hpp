// A scenario that a test builds, and runs of it in copies of the test's process: no file, no command line.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "psim/run.hpp"
#include "tests/support/run_file.hpp"
#include "tests/support/run_psim.hpp"

namespace psim::test {

// Fields by their dotted paths, as `psim run --set` has them: "training.steps=40", "consistency.model=asp".
// A value is TOML; text that is no TOML is a string.
using FieldValues = std::vector<std::string>;

// Each call gives a scenario of its own, so that many can begin with one. What is set replaces what was
// there.
class ScenarioBuilder {
 public:
  explicit ScenarioBuilder(const FieldValues& settings = {});
  static ScenarioBuilder from(const std::string& toml);

  [[nodiscard]] ScenarioBuilder set(const FieldValues& settings) const;
  template <class Value>
  [[nodiscard]] ScenarioBuilder set(const std::string& path, const Value& value) const {
    return set({fmt::format("{}={}", path, value)});
  }
  // A table more of a list: add("filter", {"kind=top-k", "fraction=0.1"}).
  [[nodiscard]] ScenarioBuilder add(const std::string& list, const FieldValues& fields) const;
  // One [[fault]]; `nodes` is one node, or a list: ["worker 0", "worker 1"].
  [[nodiscard]] ScenarioBuilder fault(const std::string& kind, const std::string& nodes,
                                      const FieldValues& fields) const;
  [[nodiscard]] ScenarioBuilder straggler(int worker, double slowdown, const FieldValues& fields = {}) const;
  // TOML more, whose lists of tables ([[fault]]) follow those that are there.
  [[nodiscard]] ScenarioBuilder with(const std::string& toml) const;
  // Fields of a table, one a line; other tables may follow.
  [[nodiscard]] ScenarioBuilder with(const std::string& table, const std::string& fields) const;
  // Links of this bandwidth and latency, and nothing else that takes time or chance.
  [[nodiscard]] ScenarioBuilder links(const std::string& bandwidth, const std::string& latency) const;
  // Where files are that the scenario names.
  [[nodiscard]] ScenarioBuilder data_folder(const std::filesystem::path& folder) const;

  std::string toml() const;
  operator api::Scenario() const;  // NOLINT: what it is built for

  // The document of `psim run --json`.
  Json run(const api::RunOptions& options = {}) const;
  // With every event.
  TracedRun trace() const;

 private:
  struct Tree;
  explicit ScenarioBuilder(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

inline ScenarioBuilder operator+(const ScenarioBuilder& scenario, const std::string& toml) {
  return scenario.with(toml);
}

// A model that is nothing but so many numbers.
ScenarioBuilder phantom(std::int64_t parameters);

Json run_scenario(const api::Scenario& scenario, const api::RunOptions& options = {});

// The run of a file of the project, "scenarios/quickstart.toml", with these settings. Fails the test when
// `psim run` would not end with `code`.
Json run_file(const std::string& file, const FieldValues& settings = {}, int code = 0);
api::Scenario scenario_file(const std::string& file, const FieldValues& settings = {});

// How `psim run` ends: 1 if the run is stuck or misses its target, else 0.
int exit_code(const Json& summary);

// A run in a folder of its own.
class KeptRun {
 public:
  explicit KeptRun(const api::Scenario& scenario, const std::string& trace = "events", bool costs = false);

  const Json& summary() const { return summary_; }
  std::filesystem::path path() const { return folder_.path() / "run"; }
  std::vector<RecordedEvent> events() const { return events_of(path()); }
  // What `psim COMMAND RUN WORDS` says.
  Outcome ask(const std::string& command, const std::vector<std::string>& words = {}) const;
  // Its document with --json. Fails the test when the exit code is not 0.
  Json told(const std::string& command, std::vector<std::string> words = {}) const;
  // Fails the test when `psim verify` finds something.
  void check_promises() const;

 private:
  TemporaryFolder folder_;
  Json summary_;
};

}  // namespace psim::test
