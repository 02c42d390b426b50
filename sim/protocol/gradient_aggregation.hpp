// A table of functions that combine the gradients of an update into one. consistency.aggregation chooses the
// row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/base/settings.hpp"
#include "model/base/table.hpp"
#include "model/optimizer.hpp"
#include "model/parameters.hpp"
#include "model/values.hpp"

namespace psim {

// The gradients of one update of one shard, all of the shard's size. A gradient that is stale, or of fewer
// samples, counts less than its share of the update; it is already smaller by that factor.
template <class Scalar>
struct Aggregating {
  const Settings& settings;
  std::span<const std::span<const Scalar>> gradients;  // in worker order, at least one
  std::span<const std::uint32_t> workers;              // of each gradient
  // For a row that keeps gradients: the last gradient of each worker that takes part and has pushed,
  // including the gradients of this update.
  std::span<const std::span<const Scalar>> kept;
  std::span<Scalar> result;  // the function fills it; zeros at first

  double operator()(const Setting& setting) const { return settings.of(setting); }
};

struct AggregationRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  bool is_sum = false;                   // every gradient counts in full; has no `combine`
  ScalarCode<Aggregating> combine = {};  // none: their weighted mean, or their sum
  bool keeps = false;                    // the servers keep the last gradient of each worker
  double fuzz = 1;                       // how often the fuzzer draws it, relative to 1
};
template <>
std::deque<AggregationRow> built_in_rows();

// The last gradient of a worker, which servers keep. `worker` is the worker's number.
struct KeptGradient {
  std::uint32_t worker = 0;
  Slice gradient = {};
};

struct AggregationRule {
  Chosen<AggregationRow> row = {};  // mean
  Settings settings = {};
};

// The gradients that a shard keeps, and the function that combines the gradients of an update. A value: it
// goes to copies and to the next owner with the shard.
class GradientAggregation {
 public:
  // Throws std::logic_error for a row that contradicts itself: a sum with `combine`, or kept gradients
  // without `combine`.
  GradientAggregation(AggregationRule rule, std::size_t workers, std::size_t count);

  // Combines the update's gradients, which come from these workers, into one. Their weights sum to 1 if they
  // are equally fresh and of equally many samples. `is_here`: whether a worker takes part, by its number. The
  // gradients of a phantom model have no values and stay unchanged.
  using IsHere = std::function<bool(std::size_t)>;
  void combine(std::vector<WeightedGradient>& gradients, std::span<const std::uint32_t> workers,
               Precision precision, const IsHere& is_here);

  // kept_of: the kept gradients of these workers, each once, to send to a replica. keep: the replica stores
  // them.
  std::vector<KeptGradient> kept_of(std::span<const std::uint32_t> workers) const;
  void keep(const std::vector<KeptGradient>& gradients);

  GradientAggregation part(Range range) const;
  // The hash of the kept gradients; `hash` if none are kept.
  std::uint64_t hash(std::uint64_t hash) const;
  std::uint64_t bytes(std::size_t bytes_per_value) const;

 private:
  template <class Scalar>
  Values combined(const std::vector<Values>& gradients, std::span<const std::uint32_t> workers,
                  Precision precision, const IsHere& is_here) const;

  AggregationRule rule_;
  std::size_t count_;
  std::vector<Slice> kept_;  // by worker; without a count: it has not pushed yet
};

}  // namespace psim
