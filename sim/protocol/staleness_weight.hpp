// The weight of a push, given its staleness: a table of functions, and a limit beyond which a push counts
// less or not at all. Every model that takes late pushes uses it when it applies a push.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "model/base/settings.hpp"
#include "model/base/table.hpp"

namespace psim {

struct StalenessWeightRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  // The factor by which a push that is `staleness` updates old counts less than a fresh push.
  double (*divisor)(const Settings& settings, double staleness) = nullptr;
  double fuzz = 1;  // how often the fuzzer draws it, relative to 1

  // The name of a missing function.
  std::string_view lacks() const { return divisor == nullptr ? "divisor" : ""; }
};
template <>
std::deque<StalenessWeightRow> built_in_rows();

// The treatment of a push that is staler than the limit.
enum class TooStale : std::uint8_t { drop, damp };
// What the weight of a stale push multiplies.
enum class StaleScales : std::uint8_t { rate, gradient };

struct StalenessRule {
  std::optional<Chosen<StalenessWeightRow>> function = {};  // none: all pushes weigh the same
  Settings settings = {};
  std::optional<std::int64_t> limit = {};  // in updates
  TooStale beyond = TooStale::drop;
  StaleScales scales = StaleScales::rate;

  // The factor by which a push of this staleness counts less than a fresh push, if it is not dropped.
  double divisor(std::int64_t staleness) const;
  bool drops(std::int64_t staleness) const { return beyond == TooStale::drop && is_beyond(staleness); }
  bool is_beyond(std::int64_t staleness) const;
};

}  // namespace psim
