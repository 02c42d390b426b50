// Random small scenarios, mostly with failures.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/random.hpp"
#include "model/base/settings.hpp"
#include "model/base/table.hpp"

namespace psim::fuzz {

// A scenario as rows of TOML, which are easy to draw and to remove.
struct Row {
  std::string key, value;  // value: TOML
  bool needed = false;     // without this row the scenario would not be small
  bool operator==(const Row&) const = default;
};

struct Table {
  std::string name;   // "cluster.worker"; "" is the part above all tables
  bool many = false;  // [[name]]
  std::vector<Row> rows;
  bool operator==(const Table&) const = default;

  const std::string* find(std::string_view key) const;  // its value
};

struct Draft {
  std::deque<Table> tables;  // addresses stay valid when tables are added
  bool operator==(const Draft&) const = default;

  // The table with this name; adds it at the end if there is none.
  Table& operator[](std::string_view name);
  // The value in the first table with this name.
  const std::string* find(std::string_view name, std::string_view key) const;
};

std::string to_toml(const Draft& draft);

// The fields of a draft with their names of choices: "fault.at", "fault.kind crash". Without the numbers that
// every draft has.
std::set<std::string> features(const Draft& draft);

// Scenario `run` of `seed`; always the same for these numbers. The caller draws a contradictory scenario
// again with the next `attempt`.
Draft draw(std::uint64_t seed, std::uint64_t run, std::uint64_t attempt);

// Random choices from a stream.
class Dice {
 public:
  explicit Dice(Stream stream) : stream_(stream) {}
  double share() { return stream_.uniform(); }
  bool chance(double probability) { return stream_.uniform() < probability; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(stream_.below(static_cast<std::uint64_t>(most - least + 1)));
  }
  std::string number(std::int64_t least, std::int64_t most) { return std::to_string(between(least, most)); }
  std::string_view one_of(std::span<const std::string_view> names) {
    return names[stream_.below(names.size())];
  }
  std::string_view one_of(std::initializer_list<std::string_view> names) {
    return one_of(std::span(names.begin(), names.size()));
  }
  std::string text_of(std::initializer_list<std::string_view> names) {  // in quotes
    return '"' + std::string(one_of(names)) + '"';
  }
  std::string time(std::int64_t least, std::int64_t most) {  // microseconds
    return '"' + number(least, most) + "us\"";
  }

 private:
  Stream stream_;
};

// One of the rows that fit, with probabilities in proportion to `fuzz`.
template <class RowOfTable, class Fits>
const RowOfTable& drawn_row(Dice& dice, Fits&& fits) {
  std::vector<const RowOfTable*> fitting;
  double all = 0;
  for (const RowOfTable& row : all_rows<RowOfTable>()) {
    if (!fits(row) || row.fuzz <= 0) continue;
    fitting.push_back(&row);
    all += row.fuzz;
  }
  double left = all * dice.share();
  for (const RowOfTable* row : fitting) {
    left -= row->fuzz;
    if (left < 0) return *row;
  }
  return *fitting.back();
}
template <class RowOfTable>
const RowOfTable& drawn_row(Dice& dice) {
  return drawn_row<RowOfTable>(dice, [](const RowOfTable&) { return true; });
}

constexpr std::int64_t step_us = 1000;  // mean time of a step

inline std::string in_quotes(std::string_view name) { return '"' + std::string(name) + '"'; }
void draw_settings(const SettingList& settings, Table& table, Dice& dice);
// A row for the field `key`, with its settings.
template <class RowOfTable>
const RowOfTable& draw_row(Table& table, std::string_view key, Dice& dice) {
  const RowOfTable& row = drawn_row<RowOfTable>(dice);
  table.rows.push_back({std::string(key), in_quotes(row.name)});
  draw_settings(row.settings, table, dice);
  return row;
}

// The cluster for which faults are drawn.
struct Victims {
  std::int64_t workers = 1, servers = 1;
  bool learns = false;       // so a fault can wait for a loss
  bool snapshots = false;    // so there is a storage node
  bool may_leave = false;    // without servers: workers may leave, and the others continue
  std::int64_t readers = 0;  // inference nodes
  bool database = false;     // whether there is a database
  bool shares_work = false;  // workers compute samples of other workers, or get samples over the network
  std::int64_t end_us = 0;   // approximate length of the run without faults
  bool colocated = false;    // so faults can name machines
};
void draw_optimizer(Table& training, bool dense, Dice& dice);
void draw_training(Draft& draft, std::int64_t steps, bool learns, bool dense, Dice& dice);
// Draws the memory of nodes and the work of devices. `dice` is separate, so that it changes no other draw.
void draw_memory(Draft& draft, bool dense, Dice dice);
void draw_model(Draft& draft, Dice& dice);
void draw_consistency(Draft& draft, std::int64_t workers, Dice& dice);
// Draws windows and deadlines of updates, the treatment of stale pushes, and the cache of workers.
void draw_staleness(Draft& draft, Dice& dice);
// Draws whose age of a push counts, and whether steps that get too old are stopped. `dice` is separate, as
// above.
void draw_ages(Draft& draft, Dice dice);
// Draws limits on the time of a computation. `dice` is separate, as above.
void draw_limits(Draft& draft, Dice dice);
// Draws how updates stay open for slower workers, and what the work behind a push weighs.
void draw_grace(Draft& draft, Dice dice);
void draw_faults(Draft& draft, const Victims& victims, Dice& dice);
// Draws a temporary loss of all workers but one.
void draw_last_survivor(Draft& draft, const Victims& victims, Dice& dice);
// Draws servers that join, or leave for some time, if ranges or loads decide which shards they get.
void draw_ranges(Draft& draft, const Victims& v, Dice& dice);
void draw_work(Draft& draft, Victims& victims, Dice& dice);
// Draws a scenario with a program of tasks.
Draft with_tasks(Dice& dice);
// Draws start-up, power and profiles of nodes; `sturdy`: nothing fails.
void draw_node_life(Draft& draft, const Victims& victims, bool sturdy, Dice& dice);

}  // namespace psim::fuzz
