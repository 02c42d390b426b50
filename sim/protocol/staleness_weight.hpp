// What a push weighs, given how stale it is: a table of functions, and a limit beyond which a push counts
// less or not at all. Every model that takes late pushes asks here, when it applies one.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "model/settings.hpp"
#include "model/table.hpp"

namespace psim {

struct StalenessWeightRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  // How many times less than a fresh push one counts that is `staleness` updates old.
  double (*divisor)(const Settings& settings, double staleness) = nullptr;
  double fuzz = 1;  // how often the fuzzer draws it, beside 1

  // A function that is missing.
  std::string_view lacks() const { return divisor == nullptr ? "divisor" : ""; }
};
template <>
std::deque<StalenessWeightRow> built_in_rows();

// What becomes of a push that is staler than the limit.
enum class TooStale : std::uint8_t { drop, damp };

struct StalenessRule {
  std::optional<Chosen<StalenessWeightRow>> function = {};  // none: all pushes weigh the same
  Settings settings = {};
  std::optional<std::int64_t> limit = {};  // in updates
  TooStale beyond = TooStale::drop;

  // How many times less than a fresh push one of this staleness counts. Infinitely many times: it is dropped.
  double divisor(std::int64_t staleness) const;
  bool drops(std::int64_t staleness) const { return beyond == TooStale::drop && is_beyond(staleness); }
  bool is_beyond(std::int64_t staleness) const;
};

}  // namespace psim
