// A scenario as rows of TOML, which are easy to draw and to remove.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace psim::fuzz {

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

}  // namespace psim::fuzz
