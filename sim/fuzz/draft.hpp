// A scenario as rows of TOML: easy to draw, and to take apart again.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace psim::fuzz {

struct Row {
  std::string key, value;  // value: TOML
  bool needed = false;     // without it the scenario is no small one any more
  bool operator==(const Row&) const = default;
};

struct Table {
  std::string name;   // "cluster.worker"; "" is what stands above all tables
  bool many = false;  // [[name]]
  std::vector<Row> rows;
  bool operator==(const Table&) const = default;

  const std::string* find(std::string_view key) const;  // its value
};

struct Draft {
  std::deque<Table> tables;  // whose addresses stay when more are added
  bool operator==(const Draft&) const = default;

  // The table of this name, which is added at the end when there is none.
  Table& operator[](std::string_view name);
  // Of the first table of this name.
  const std::string* find(std::string_view name, std::string_view key) const;
};

std::string to_toml(const Draft& draft);

// The fields that a draft has, with their words: "fault.at", "fault.kind crash". Without the numbers that
// every draft has.
std::set<std::string> features(const Draft& draft);

}  // namespace psim::fuzz
