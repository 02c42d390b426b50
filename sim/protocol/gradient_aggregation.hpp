// How the gradients of an update become one: a table of functions. The row is chosen by
// consistency.aggregation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "model/optimizer.hpp"
#include "model/scalar_code.hpp"
#include "model/settings.hpp"
#include "model/table.hpp"
#include "model/values.hpp"

namespace psim {

// The gradients of one update of one shard, all of the shard's size. A gradient that counts less than its
// share of the update, because it is stale or of fewer samples, is smaller by as much.
template <class Scalar>
struct Aggregating {
  const Settings& settings;
  std::span<const std::span<const Scalar>> gradients;  // in worker order, one at least
  // Of a row that keeps gradients: the last one of each worker that has pushed, this update's included.
  std::span<const std::span<const Scalar>> kept;
  std::span<Scalar> result;  // to be filled; zeros at first

  double operator()(const Setting& setting) const { return settings.of(setting); }
};

struct AggregationRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  bool is_sum = false;                   // every gradient counts in full
  ScalarCode<Aggregating> combine = {};  // none: their weighted mean, or their sum
  bool keeps = false;                    // the servers keep the last gradient of each worker
  double fuzz = 1;                       // how often the fuzzer draws it, beside 1
};
template <>
std::deque<AggregationRow> built_in_rows();

// The last gradient of a worker, given by its number, that servers keep.
struct KeptGradient {
  std::uint32_t worker = 0;
  Slice gradient = {};
};

struct AggregationRule {
  Chosen<AggregationRow> row = {};  // mean
  Settings settings = {};
};

// The gradients that a shard keeps, and what becomes of an update's gradients. A value: it goes to copies and
// to the next owner with the shard.
class GradientAggregation {
 public:
  GradientAggregation(AggregationRule rule, std::size_t workers, std::size_t count)
      : rule_(std::move(rule)), count_(count), kept_(rule_.row->keeps ? workers : 0) {}

  // The update's gradients, of these workers, become one. Their weights sum to 1 if they are equally fresh
  // and of as many samples. A phantom's have no values and stay as they are.
  void combine(std::vector<WeightedGradient>& gradients, std::span<const std::uint32_t> workers,
               Precision precision);

  // What is kept of these workers, for a copy that gets the update's sum alone; and of such a copy.
  std::vector<KeptGradient> kept_of(std::span<const std::uint32_t> workers) const;
  void keep(const std::vector<KeptGradient>& gradients);

  GradientAggregation part(Range range) const;
  // Of the gradients kept; `hash` if there are none.
  std::uint64_t hash(std::uint64_t hash) const;
  std::uint64_t bytes(std::size_t bytes_per_value) const;

 private:
  template <class Scalar>
  Values combined(const std::vector<Values>& gradients, Precision precision) const;

  AggregationRule rule_;
  std::size_t count_;
  std::vector<Slice> kept_;  // by worker; without a count: it has not pushed
};

}  // namespace psim
