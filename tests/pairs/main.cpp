// psim_pairs: every two features together. Goal: the table of features (sim/scenario/spec/features.hpp) is
// right, and all that it does not refuse works. Method: a small scenario with the examples of both rows is
// refused by the table, exactly if one row needs what the other takes away, or it runs to its end, and its
// history verifies.
//   psim_pairs [--every N] [--only NAME]
// --every N takes each N-th pair only; --only the pairs with one feature.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "analysis/run_files.hpp"
#include "analysis/verify/verify.hpp"
#include "sim/fuzz/shrink.hpp"
#include "sim/record/identity.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/features.hpp"
#include "sim/simulation.hpp"
#include "tests/support/feature_runs.hpp"

namespace fs = std::filesystem;

namespace psim::test {
namespace {

// Four workers, two servers, some clocks of 2 ms; failures are noticed within 5 ms.
constexpr const char* base = R"([data]
source = "blobs"
samples = 96
features = 4
classes = 2
[model]
layers = [4, 3, 2]
[training]
steps = 5
batch_size = 4
[compute]
time = "2ms"
[cluster]
workers = 4
servers = 2
[recovery]
heartbeat = "1ms"
timeout = "5ms"
retry = "4ms"
longest_retry = "16ms"
patience = "500ms"
)";
// Whether what `b` sets could be put beside what `a` sets; faults of both happen.
bool put_together(Assignments& a, const Assignments& b) {
  for (const auto& [key, value] : b) {
    const auto [at, fresh] = a.emplace(key, value);
    if (fresh || at->second == value) continue;
    if (key != "fault") return false;
    at->second = at->second.substr(0, at->second.size() - 1) + ", " + value.substr(1);
  }
  return true;
}

// Whether one of two features may switch the other off without a note of psim: they are two meanings of one
// field, or both choose the model of consistency, or one sets nothing that the other does not set as well.
bool are_alternatives(const Feature& a, const Feature& b) {
  const Assignments first = assignments_of(a.example), second = assignments_of(b.example);
  const std::string model = "consistency.model";
  return a.field() == b.field() || (first.contains(model) && second.contains(model)) ||
         std::ranges::includes(first, second) || std::ranges::includes(second, first);
}

// Runs in a process of its own, which says on stdout what is wrong.
std::string run_and_verify(const LoadedScenario& loaded, const fs::path& folder) {
  fs::create_directories(folder);
  const RunIdentity identity{
      .name = "pair", .title = "", .seed = loaded.scenario.seed, .scenario_hash = scenario_hash(loaded)};
  nlohmann::ordered_json summary;
  {
    RunFile file(folder / "run.db", trace_level("events"), loaded.scenario, loaded.jobs);
    const RunResult result = simulate(loaded, {.threads = 1, .context = ""}, {&file});
    summary = make_summary(identity, loaded.scenario, result);
    file.finish(result, {{"schema", "psim.run/1"}, {"digest", result.digest}, {"trace", "events"}}, {});
  }
  write(folder / "scenario.toml", resolved_toml(loaded.scenario));
  for (std::size_t n = 0; n < loaded.jobs.size(); ++n)
    write(folder / fmt::format("namespace-{}.toml", n), resolved_toml(loaded.jobs[n].scenario));
  write(folder / "summary.json", summary.dump());
  analysis::seal(folder);
  if (!summary["stuck"].empty() && fuzz::must_end(loaded.scenario))
    return "is stuck: " + summary["stuck"][0].get<std::string>();
  const analysis::Verdict verdict = analysis::verify(folder);
  return verdict.holds() ? "" : "does not verify:\n" + analysis::text(verdict);
}

// What went wrong with a run in another process; empty: nothing.
std::string in_child(const LoadedScenario& loaded, const fs::path& folder) {
  const fs::path said = folder / "said";
  const int status = status_of_child(60, [&] {
    std::string text;
    try {
      text = run_and_verify(loaded, folder / "run");
    } catch (const std::exception& error) {
      text = fmt::format("ends with: {}", error.what());
    }
    write(said, text);
    return text.empty() ? 0 : 1;
  });
  if (status == -1) return "no process could be started";
  if (WIFSIGNALED(status)) return fmt::format("dies of signal {}", WTERMSIG(status));
  return content(said);
}

class Pairs {
 public:
  explicit Pairs(fs::path folder) : folder_(std::move(folder)) {
    write(folder_ / "pair.toml", base);
    write_inputs(folder_);
  }

  // `a` and `b` may be one.
  void look_at(const Feature& a, const Feature& b) {
    Assignments both = assignments_of(a.example);
    if (!put_together(both, assignments_of(b.example))) return static_cast<void>(++alternatives_);
    LoadRequest request{.path = (folder_ / "pair.toml").string(), .overrides = {}, .data_dirs = {}};
    const std::string sets = add_sets(both, request);
    const auto fail = [&](const std::string& what) {
      ++failed_;
      fmt::print("{} with {}:{}\n{}\n\n", a.name, b.name, sets, what);
    };
    request.cache = &cache_;
    Diagnostics diagnostics;
    const std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
    if (!loaded) {
      ++refused_;
      const auto is_table = [](const Diagnostic& one) {
        return one.code == "incompatible" || one.code == "no-meaning";
      };
      if (!std::ranges::all_of(diagnostics.list(), is_table) || &a == &b) fail(diagnostics.render());
      return;
    }
    const auto is_off = [&](const Feature& feature) { return feature.places(loaded->scenario).empty(); };
    const bool is_told = diagnostics.render_notes().find("no-meaning") != std::string::npos;
    if (&a != &b && is_told && (is_off(a) || is_off(b))) return static_cast<void>(++alternatives_);
    if (exclude(a, b) && &a != &b) return fail("is not refused");
    if (is_off(a) || is_off(b)) {
      if (&a != &b && are_alternatives(a, b)) return static_cast<void>(++alternatives_);
      return fail("one of them is off");
    }
    ++ran_;
    const fs::path folder = folder_ / "pair";
    fs::create_directories(folder);
    if (const std::string wrong = in_child(*loaded, folder); !wrong.empty()) fail(wrong);
    fs::remove_all(folder);
  }

  int report() const {
    fmt::print("{} pairs: {} ran, {} were refused, {} are alternatives; {} failed\n",
               ran_ + refused_ + alternatives_, ran_, refused_, alternatives_, failed_);
    return failed_ == 0 && ran_ > 0 ? 0 : 1;
  }

 private:
  fs::path folder_;
  DataCache cache_;
  int ran_ = 0, refused_ = 0, alternatives_ = 0, failed_ = 0;
};

int main_of(const std::vector<std::string>& words) {
  Chosen chosen(words);
  std::string name = (fs::temp_directory_path() / "psim-pairs-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return 3;
  Pairs pairs(name);
  for (const Feature& a : features()) {
    for (const Feature& b : features()) {
      if (&b < &a) continue;
      if (chosen.takes(a.name == chosen.only || b.name == chosen.only)) pairs.look_at(a, b);
    }
  }
  fs::remove_all(name);
  return pairs.report();
}

}  // namespace
}  // namespace psim::test

int main(int count, char** words) { return psim::test::main_of({words + 1, words + count}); }
