// Counts of a job that are not in its record.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace psim {

class JobTotals {
 public:
  explicit JobTotals(std::uint32_t workers) : keys_used_(workers) {}

  // Sparse models: keys that one step of the worker uses.
  void use_keys(std::uint32_t worker, std::size_t keys) { keys_used_[worker] += keys; }
  std::uint64_t keys_used(std::uint32_t worker) const { return keys_used_[worker]; }

  // A gradient does not fit its precision; see RunResult. Threads call this.
  void overflow() { scale_overflows_ = true; }
  bool scale_overflows() const { return scale_overflows_; }

  // A sum of gradients does not fit the precision in which all-reduce sends it.
  void overflow_of_sum() { sum_overflows_ = true; }
  bool sum_overflows() const { return sum_overflows_; }

  // All shards have reached this version.
  void reach(std::int64_t version) { most_updates_ = std::max(most_updates_, version); }
  // The newest version that all shards have had, before any shard was set back.
  std::int64_t most_updates() const { return most_updates_; }

 private:
  std::vector<std::uint64_t> keys_used_;
  std::atomic<bool> scale_overflows_ = false;
  bool sum_overflows_ = false;
  std::int64_t most_updates_ = 0;
};

}  // namespace psim
