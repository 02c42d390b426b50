#include "sim/fuzz/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace psim::fuzz {

const std::string* Table::find(std::string_view key) const {
  const auto row = std::ranges::find(rows, key, &Row::key);
  return row == rows.end() ? nullptr : &row->value;
}

Table& Draft::operator[](std::string_view name) {
  const auto table = std::ranges::find(tables, name, &Table::name);
  if (table != tables.end()) return *table;
  tables.push_back({.name = std::string(name), .rows = {}});
  return tables.back();
}

const std::string* Draft::find(std::string_view name, std::string_view key) const {
  const auto table = std::ranges::find(tables, name, &Table::name);
  return table == tables.end() ? nullptr : table->find(key);
}

std::string to_toml(const Draft& draft) {
  std::string text;
  for (const Table& table : draft.tables) {
    if (!table.name.empty())
      text += fmt::format("{}{}{}{}\n", text.empty() ? "" : "\n", table.many ? "[[" : "[", table.name,
                          table.many ? "]]" : "]");
    for (const Row& row : table.rows) text += fmt::format("{} = {}\n", row.key, row.value);
  }
  return text;
}

std::set<std::string> features(const Draft& draft) {
  struct Counted {
    std::string_view table, key, name;
  };
  constexpr auto counted = std::to_array<Counted>({{"", "preset", "preset"},
                                                   {"fault", "kind", "fault"},
                                                   {"consistency", "model", "consistency"},
                                                   {"model", "kind", "model"},
                                                   {"training", "optimizer", "optimizer"},
                                                   {"compute", "distribution", "distribution"},
                                                   {"training", "algorithm", "algorithm"},
                                                   {"placement", "kind", "placement"},
                                                   {"messages", "unit", "unit"},
                                                   {"messages", "order", "order"},
                                                   {"cluster.network", "topology", "topology"},
                                                   {"filter", "kind", "filter"},
                                                   {"replication", "when", "replication"},
                                                   {"replication", "layout", "replication"},
                                                   {"model", "precision", "precision"},
                                                   {"training", "work", "work"},
                                                   {"training", "update", "update at"},
                                                   {"data", "delivery", "delivery"},
                                                   {"filter", "on", "filter on"},
                                                   {"recovery", "hand_over", "hand over"},
                                                   {"recovery", "lost_data", "lost data"},
                                                   {"recovery", "detector", "detector"},
                                                   {"recovery", "semantics", "semantics"},
                                                   {"recovery", "workers", "lost workers"},
                                                   {"recovery", "servers", "lost servers"}});
  std::set<std::string> found;
  for (const Table& table : draft.tables) {
    for (const auto& [name, feature] : {std::pair{"snapshot", "snapshots"},
                                        {"group", "groups"},
                                        {"inference", "inference"},
                                        {"cluster.worker.device", "devices"}}) {
      if (table.name == name) found.insert(feature);
    }
    for (const std::string_view key :
         {"local_steps", "warmup_steps", "accumulate", "pull_every", "delay_compensation", "staleness_aware",
          "feature_blocks", "multi_precision"}) {
      if (table.name == "training" && table.find(key) != nullptr) found.insert(std::string(key));
    }
    for (const Counted& one : counted) {
      const std::string* value = one.table == table.name ? table.find(one.key) : nullptr;
      if (value == nullptr) continue;
      std::string bare = *value;
      std::erase(bare, '"');
      found.insert(fmt::format("{} {}", one.name, bare));
    }
    for (const std::string_view trigger : {"at", "from", "until", "mtbf", "when", "every"}) {
      if (table.name == "fault" && table.find(trigger) != nullptr)
        found.insert(fmt::format("fault by {}", trigger == "until" ? "from" : trigger));
    }
  }
  return found;
}

}  // namespace psim::fuzz
