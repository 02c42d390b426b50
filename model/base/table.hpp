// Tables that grow by rows: consistency models, optimizers, filters, kinds of faults, distributions, presets.
// A row carries all that psim knows about its entry: name, aliases, settings, code and documentation. The
// parser, `psim explain`, the reference page, the JSON Schema and the fuzzer read the rows and contain none
// of their names.
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace psim {

// psim's own rows; one file defines the rows of each kind.
template <class Row>
std::deque<Row> built_in_rows();

template <class Row>
class Table {
 public:
  static const std::deque<Row>& rows() { return all(); }
  static void add(Row row) { all().push_back(std::move(row)); }
  static void remove_last() { all().pop_back(); }

 private:
  static std::deque<Row>& all() {
    static std::deque<Row> rows = built_in_rows<Row>();
    return rows;
  }
};

template <class Row>
const std::deque<Row>& all_rows() {
  return Table<Row>::rows();
}

// A row from outside psim's sources. The row exists as long as this object. It must exist before the first
// scenario is loaded; a global variable does. Additions to one table must end in the reverse of their order.
template <class Row>
struct Addition {
  explicit Addition(Row row) { Table<Row>::add(std::move(row)); }
  ~Addition() { Table<Row>::remove_last(); }
  Addition(const Addition&) = delete;
  Addition& operator=(const Addition&) = delete;
};

// Whether `word` is in a list whose words are separated by spaces.
inline bool lists(std::string_view list, std::string_view word) {
  return !word.empty() &&
         (" " + std::string(list) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

// Whether `name` is the row's name or one of its aliases, which are separated by spaces.
inline bool answers_to(const auto& row, std::string_view name) {
  return row.name == name || lists(row.aliases, name);
}

// The row of a table that a scenario has chosen; the default is the first row.
template <class Row>
class Chosen {
 public:
  Chosen() = default;
  // Throws std::logic_error if no row has that name.
  Chosen(std::string_view name) : index_(find(name)) {}
  Chosen(const char* name) : Chosen(std::string_view(name)) {}
  static Chosen at(std::size_t index) {
    Chosen chosen;
    chosen.index_ = index;
    return chosen;
  }

  const Row& operator*() const { return all_rows<Row>()[index_]; }
  const Row* operator->() const { return &all_rows<Row>()[index_]; }
  std::size_t index() const { return index_; }
  friend bool operator==(Chosen, Chosen) = default;
  friend auto operator<=>(Chosen, Chosen) = default;

 private:
  static std::size_t find(std::string_view name) {
    for (std::size_t i = 0; i < all_rows<Row>().size(); ++i) {
      if (all_rows<Row>()[i].name == name) return i;
    }
    throw std::logic_error("no row is called " + std::string(name));
  }
  std::size_t index_ = 0;
};

}  // namespace psim
