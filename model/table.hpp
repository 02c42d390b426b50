// Tables that grow by a row: consistency models, optimizers, filters, kinds of faults, distributions,
// presets. A row carries all that psim knows of one of them: name, aliases, settings, code and documentation.
// Parser, `psim explain`, the reference page, the JSON Schema and the fuzzer read the rows, and name none of
// them.
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

// The rows that psim has itself, each kind's defined in one file.
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

// A row from outside of psim's sources, as long as this object lives. It must be there before the first
// scenario is loaded; as a global variable it is. Additions of one table end in the reverse of their order.
template <class Row>
struct Addition {
  explicit Addition(Row row) { Table<Row>::add(std::move(row)); }
  ~Addition() { Table<Row>::remove_last(); }
  Addition(const Addition&) = delete;
  Addition& operator=(const Addition&) = delete;
};

// Whether `word` is in a list whose words are separated by spaces.
inline bool lists(std::string_view list, std::string_view word) {
  return (" " + std::string(list) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

// Whether `name` is the row's name or one of its aliases, which are separated by spaces.
inline bool answers_to(const auto& row, std::string_view name) {
  return row.name == name || lists(row.aliases, name);
}

// Which row of a table a scenario has chosen; at first the first one.
template <class Row>
class Chosen {
 public:
  Chosen() = default;
  // Throws std::logic_error when no row has that name.
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
