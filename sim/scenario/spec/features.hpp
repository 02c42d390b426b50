// What a scenario can switch on, and what goes together. A *property* holds unless something takes it away:
// "all workers are in the same clock". A *feature* is one row: what switches it on, which properties it
// needs, and which it takes away. Two features exclude each other where one needs what the other takes away;
// features know properties, never each other. A new feature is a new row (feature_rows.cpp); the rows of
// consistency models and filters are made from their own tables.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

enum class Property : std::uint8_t {
  servers,
  one_group,
  arrives_once,
  same_clock,
  late_pushes,
  counts_alone,
  gradients,
  whole_pushes,
  one_batch,
  pulled_weights,
  own_clocks,
  whole_steps,
  all_weights,
  server_weights,
  real_data,
  feature_weights,
  keys,
  wide_values,
  own_links,
  whole_copies,
  counted_batches,
  open_clocks,
  regular_pulls,
  plain_values,
  at_once,
  one_push,
  sums_of_pushes,
  own_batches,
  peers,
  fewer_workers,
  own_hosts,
  hosts_of_psim,
  server_steps,
  one_scheduler,
  held_samples,
};

struct PropertyRow {
  Property property;
  std::string_view name;  // what a feature needs: "parameter servers"
  std::string_view doc;   // what holds then, as a sentence
};
std::span<const PropertyRow> properties();

// A set of properties.
class Properties {
 public:
  constexpr Properties() = default;
  constexpr Properties(Property one) : bits_(std::uint64_t{1} << static_cast<unsigned>(one)) {}
  constexpr bool has(Property one) const { return (bits_ & Properties(one).bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr Properties operator|(Properties a, Properties b) { return Properties(a.bits_ | b.bits_); }
  friend constexpr Properties operator&(Properties a, Properties b) { return Properties(a.bits_ & b.bits_); }

 private:
  explicit constexpr Properties(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};
constexpr Properties operator|(Property a, Property b) { return Properties(a) | b; }

struct Demands {
  Properties needs, takes;
};

struct Feature {
  std::string_view name;     // as the subject of "... needs parameter servers"
  std::string example;       // assignments that switch it on, one a line, as in --set; the first is its own
  std::string_view instead;  // what to write where it is not wanted
  Demands demands;           // in a cluster of several servers and more workers than k
  // The paths of the fields, or of the elements of a list, that switch it on; none: it is off.
  std::function<std::vector<std::string>(const Scenario&)> places;
  std::function<Demands(const Scenario&)> by = {};  // where numbers decide what is needed

  std::string_view field() const { return std::string_view(example).substr(0, example.find(' ')); }
  Demands demands_in(const Scenario& scenario) const { return by ? by(scenario) : demands; }
};

// Those that no other table makes (feature_rows.cpp).
std::span<const Feature> feature_rows();
// All of them, in the order of docs/compatibility.md.
std::span<const Feature> features();

// Whether one of the two needs what the other takes away.
bool exclude(const Feature& a, const Feature& b);

// "parameter servers, gradients in pushes".
std::string in_words(Properties properties);

// With several groups: whether each may have its own value of `field` (else it belongs to the machines).
bool is_of_group(std::string_view field);

}  // namespace psim
