// psim_effects: every field, under every consistency model, architecture and network that accepts it. Goal:
// nothing is accepted that does nothing. Method: a small scenario is run with the field's default and with
// other values, which its declaration gives. One of them must change the digest or the summary, or psim
// refuses it or notes that it has no effect. Where the field acts only together with another feature, the
// examples of the features are added one after the other until one shows an effect.
//   psim_effects [--every N] [--only FIELD]
// --every N takes each N-th pair of a cell (model, architecture or network) and a field; --only one field.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/record/identity.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/load.hpp"
#include "sim/simulation.hpp"
#include "tests/effects/surroundings.hpp"
#include "tests/effects/values.hpp"
#include "tests/support/feature_runs.hpp"

namespace fs = std::filesystem;

namespace psim::test {
namespace {

// Workers of unequal steps, two servers; failures are noticed within 5 ms.
constexpr const char* base = R"([data]
source = "blobs"
samples = 96
features = 4
classes = 2
[model]
layers = [4, 3, 2]
[training]
steps = 6
batch_size = 4
[compute]
time = "2ms"
distribution = "exponential"
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

// Fields whose other values need not change a run, in cells whose names contain a text, and why.
struct Exception {
  std::string_view field, cell, why;
};
constexpr Exception exceptions[] = {
    {"title", "", "it is a heading"},
    {"preset", "", "it sets other fields, which have their own turn"},
    {"consistency.promises", "", "psim verify checks them, after the run"},
    {"consistency.trimmed_share", "custom", "an expression decides how many pushes an update has: here two"},
    {"consistency.byzantine", "custom", "likewise"},
    {"training.staleness_scales", "bsp", "a group may weigh stale pushes, so with groups psim says nothing"},
    {"training.staleness_scales", "k-sync", "likewise"},
    {"filter.on", "all-reduce", "all its messages are pushes, so `push` and `both` are one"},
    {"data.dirichlet_alpha", "pipeline of devices", "one machine has all samples"},
    {"cluster.network.share_queue", "all-reduce", "no small message goes to a node that receives large ones"},
    {"cluster.network.share_queue", "pipeline", "likewise"},
    {"cluster.network.share_queue", "tasks",
     "workers pull when they are told to, not during the others' pushes"},
};

bool is_excepted(const std::string& field, const std::string& cell) {
  return std::ranges::any_of(exceptions, [&](const Exception& one) {
    return one.field == field && cell.find(one.cell) != cell.npos;
  });
}

// The result of one run; none: psim does not accept the scenario, or it takes too long.
using Outcome = std::optional<std::string>;

class Effects {
 public:
  explicit Effects(fs::path folder) : folder_(std::move(folder)) {
    write(folder_ / "effects.toml", base);
    write_inputs(folder_);
    write(folder_ / "slower.csv", "0, 0.5\n0.004, 0.2\n0.03, 0.1\n0.05, 1\n");
    write(folder_ / "other.csv",
          "worker,step,seconds\n0,0,0.002\n0,1,0.003\n0,2,0.002\n0,3,0.001\n0,4,0.0005\n");
  }

  // Whether some value of the field changes a run of the cell.
  void look_at(const Setting& cell, const DescribedField& field) {
    ++looked_;
    std::vector<Try>& known = known_[field.path()];
    std::string accepted;
    for (const Try& one : tries(known, field)) {
      const Found found = run(cell, field, one);
      if (found == Found::effect) {
        if (std::ranges::find(known, one) == known.end()) known.push_back(one);
        ++effects_;
        return;
      }
      if (found == Found::nothing && accepted.empty()) accepted = shown_;
    }
    if (accepted.empty()) return;
    ++failed_;
    fmt::print("{}: {} changes nothing, for example\n  {}\n", cell.name, field.path(), accepted);
    std::fflush(stdout);
  }

  int report() const {
    fmt::print("{} fields of cells: {} act, {} are refused or said to have no effect; {} failed; {} runs\n",
               looked_, effects_, looked_ - effects_ - failed_, failed_, runs_);
    return failed_ == 0 && effects_ > 0 ? 0 : 1;
  }

 private:
  struct Try {
    std::size_t around = 0;
    std::string choice, value;  // of the field on which this field depends, and of the field
    bool operator==(const Try&) const = default;
  };
  enum class Found { refused, nothing, effect };

  static std::string numbered(const DescribedField& field) {
    const auto& tables = all_fields().tables;
    const auto table = std::ranges::find(tables, field.table, &DescribedTable::path);
    const bool repeated = table != tables.end() && table->repeated;
    return field.table + (field.table.empty() ? "" : repeated ? ".0." : ".") + field.key;
  }
  static std::string choice_of(const DescribedField& field) {
    if (field.info.when.empty()) return "";
    const std::string key(field.info.when_key);
    if (key.find('.') != std::string::npos) return key;
    const std::string own = numbered(field);
    return own.substr(0, own.size() - field.key.size()) + key;
  }

  std::vector<Try> tries(const std::vector<Try>& known, const DescribedField& field) const {
    std::vector<Try> all = known;
    const Texts values = Values(field).all();
    std::vector<std::string> choices(field.info.when.begin(), field.info.when.end());
    if (choices.empty()) choices.emplace_back();
    const std::string top = field.table.substr(0, field.table.find('.'));
    const auto is_near = [&](const Setting& around) {
      return around.sets.empty() || !around.fields.empty() ||
             std::ranges::any_of(around.sets, [&](const auto& one) {
               return one.first.starts_with(top) ||
                      std::ranges::find(field.info.need.keys, one.first) != field.info.need.keys.end();
             });
    };
    for (const bool near : {true, false}) {
      if (!near && !known.empty()) break;  // there are nearer ones, in which it acts
      for (std::size_t a = 0; a < around_.size(); ++a) {
        const Texts& own = around_[a].fields;
        if (is_near(around_[a]) != near) continue;
        if (!own.empty() && std::ranges::find(own, field.path()) == own.end()) continue;
        for (const std::string& choice : choices) {
          for (const std::string& value : values) all.push_back({a, choice, value});
        }
      }
    }
    return all;
  }

  Found run(const Setting& cell, const DescribedField& field, const Try& one) {
    Assignments sets = cell.sets;
    for (const auto& [key, value] : around_[one.around].sets) {
      const auto [at, fresh] = sets.emplace(key, value);
      if (!fresh && at->second != value) return Found::refused;
    }
    const std::string path = numbered(field), choice = choice_of(field);
    if (!one.choice.empty()) {
      const auto [at, fresh] = sets.emplace(choice, in_quotes(one.choice));
      if (!fresh && at->second != in_quotes(one.choice)) return Found::refused;
    }
    if (const auto usual = base_.find(path); usual != base_.end() && usual->second == one.value)
      return Found::refused;
    if (sets.contains(path)) {
      if (cell.sets.contains(path) || sets.at(path) == one.value) return Found::refused;
    }
    const std::string array = path.substr(0, path.find(".0."));
    if (array != path && !sets.contains(array)) return Found::refused;
    const Assignments without = sets;
    sets[path] = one.value;
    const Outcome other = outcome_of(sets, conditions(field));
    if (!other) return Found::refused;
    const std::string shown = shown_;
    const Outcome usual = outcome_of(without, {});
    shown_ = shown;
    if (!usual) return Found::refused;
    return *other == *usual ? Found::nothing : Found::effect;
  }

  // The field, and the fields on which it depends.
  static Texts conditions(const DescribedField& field, int depth = 3) {
    Texts all{numbered(field)};
    if (depth == 0) return all;
    Texts above(field.info.need.keys.begin(), field.info.need.keys.end());
    if (const std::string choice = choice_of(field); !choice.empty()) {
      all.push_back(choice);
      above.push_back(field.table + "." + std::string(field.info.when_key));
    }
    for (const std::string& one : above) {
      if (const DescribedField* const of = all_fields().find(one);
          of != nullptr && of->path() != field.path())
        std::ranges::copy(conditions(*of, depth - 1), std::back_inserter(all));
    }
    return all;
  }

  // `fields`: those that must have a meaning.
  Outcome outcome_of(const Assignments& sets, const Texts& fields) {
    LoadRequest request{.path = (folder_ / "effects.toml").string(), .overrides = {}, .data_dirs = {}};
    const std::string shown = shown_ = add_sets(sets, request);
    if (fields.empty()) {
      if (const auto before = outcomes_.find(shown); before != outcomes_.end()) return before->second;
    }
    request.cache = &cache_;
    Diagnostics diagnostics;
    const std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
    Outcome outcome;
    if (loaded && !says(diagnostics.render_notes(), fields)) outcome = in_child(*loaded);
    if (outcome && says(*outcome, fields)) outcome.reset();
    if (fields.empty()) outcomes_.emplace(shown, outcome);
    return outcome;
  }

  // Whether a line says of one of the fields that it has no effect.
  static bool says(std::string_view lines, const Texts& fields) {
    for (std::size_t begin = 0; begin < lines.size();) {
      const std::string_view line = lines.substr(begin, lines.find('\n', begin) - begin);
      begin += line.size() + 1;
      if (line.find(" no effect") == line.npos && line.find(" changed nothing") == line.npos) continue;
      if (std::ranges::any_of(fields, [&](const auto& one) { return line.find(one) != line.npos; }))
        return true;
    }
    return false;
  }

  Outcome in_child(const LoadedScenario& loaded) {
    ++runs_;
    const fs::path said = folder_ / "said";
    const int status = status_of_child(5, [&] {
      const RunIdentity identity{.name = "", .title = "", .seed = 1, .scenario_hash = ""};
      try {
        const RunResult result = simulate(loaded, {.threads = 1, .context = ""}, {});
        write(said, result.digest + make_summary(identity, loaded.scenario, result).dump(1));
      } catch (const std::exception& error) {
        fmt::print("{} ends with: {}\n", shown_, error.what());
        std::fflush(stdout);
        return 1;
      }
      return 0;
    });
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) ++failed_;
    return status == 0 ? Outcome(content(said)) : std::nullopt;
  }

  fs::path folder_;
  DataCache cache_;
  Assignments base_ = values_of_tables(base);
  std::vector<Setting> around_ = surroundings();
  std::map<std::string, std::vector<Try>> known_;  // by field: what had an effect in other cells
  std::map<std::string, Outcome> outcomes_;
  std::string shown_;
  int looked_ = 0, effects_ = 0, failed_ = 0, runs_ = 0;
};

int main_of(const std::vector<std::string>& words) {
  Chosen chosen(words);
  std::string name = (fs::temp_directory_path() / "psim-effects-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return 3;
  Effects effects(name);
  for (const Setting& cell : cells()) {
    for (const DescribedField& field : all_fields().fields) {
      if (is_excepted(field.path(), cell.name)) continue;
      if (chosen.takes(field.path() == chosen.only)) effects.look_at(cell, field);
    }
  }
  fs::remove_all(name);
  return effects.report();
}

}  // namespace
}  // namespace psim::test

int main(int count, char** words) { return psim::test::main_of({words + 1, words + count}); }
