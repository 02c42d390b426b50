// Features of a scenario, and which of them can be combined. A *property*, such as "all workers in the same
// clock", holds unless a feature takes it away. A *feature* is one row: the fields that switch it on, the
// properties that it needs, and the properties that it takes away. Two features exclude each other if one
// needs a property that the other takes away. Features know properties, never each other. A new feature is a
// new row (features.cpp). psim makes the rows of consistency models and filters from their own tables.
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
  whole_arrays,
  dense_gradients,
};

struct PropertyRow {
  Property property;
  std::string_view name;  // what a feature needs: "parameter servers"
  std::string_view doc;   // a sentence: what holds
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
  std::string_view name;  // the subject of "... needs parameter servers"
  std::string
      example;  // assignments that switch it on, one per line, as in --set; the first is the feature's own
  std::string_view instead;  // what to write to switch it off
  Demands demands;           // in a cluster of several servers and more workers than k
  // The paths of the fields or list elements that switch it on; empty: it is off.
  std::function<std::vector<std::string>(const Scenario&)> places;
  std::function<Demands(const Scenario&)> by = {};  // demands that depend on numbers

  std::string_view field() const { return std::string_view(example).substr(0, example.find(' ')); }
  Demands demands_in(const Scenario& scenario) const { return by ? by(scenario) : demands; }
};

// The features that do not come from another table (features.cpp).
std::span<const Feature> feature_rows();
// All features, in the order of docs/compatibility.md.
std::span<const Feature> features();

// Whether one feature needs a property that the other takes away.
bool exclude(const Feature& a, const Feature& b);

// "parameter servers; pushes of gradients".
std::string in_words(Properties properties);

// Whether each of several groups may have its own value of `field`. If not, the field belongs to the
// machines.
bool is_of_group(std::string_view field);

}  // namespace psim
