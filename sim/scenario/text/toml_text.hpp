// Writes TOML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/text/document.hpp"

namespace psim {

std::string toml_string(std::string_view text);

// A value on one line.
std::string toml_of(const toml::node& node);

// The name of a value in a table of results: a word, a list of words with commas, the values of a table with
// its name first, or several tables one after the other.
std::string label_of(const toml::node& node);

// A whole document: toml++'s own formatter writes 0.2 as 0.20000000000000001.
std::string toml_document(const toml::table& root);

// A document that grows by fields. Values are TOML.
class TomlText {
 public:
  // Begins a table, or an element of [[name]].
  void begin(std::string_view name, bool is_element = false) {
    tables_.push_back({std::string(name), is_element, {}});
  }
  // Adds a field to the last table.
  void add(std::string_view key, std::string_view value) {
    tables_.back().lines.push_back({std::string(key), std::string(value), {}});
  }
  // Puts a dotted field into its table, or replaces its value. `comment` stands behind the value.
  void put(std::string_view field, std::string_view value, std::string_view comment = {});
  std::string text() const;

 private:
  struct Line {
    std::string key, value, comment;
  };
  struct Table {
    std::string name;
    bool is_element = false;
    std::vector<Line> lines;
  };
  std::vector<Table> tables_{Table{}};  // TOML wants the fields without a table first
};

}  // namespace psim
