// The rule of a consistency model with the numbers of a scenario. The servers follow this rule, and a run's
// record has it for its readers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace psim {

// The event that a worker waits for before it starts its next clock t. Read-my-writes holds under every gate:
// the worker's own earlier pushes have arrived.
enum class Gate : std::uint8_t {
  none,       // no event
  own,        // its own last push has been applied
  staleness,  // every worker's push of clock t-1-s has been applied
  version,    // the shard has a newer version than the version of the worker's last step
};

// How many clocks a worker may be ahead of the slowest one.
struct StalenessBound {
  std::int64_t staleness = 0;
  std::vector<std::pair<double, std::int64_t>> schedule = {};  // (clock, s): from that clock on
  std::int64_t most = 0;                                       // dssp: the largest bound that it may choose

  std::int64_t at(std::int64_t clock) const {
    std::int64_t bound = staleness;
    for (const auto& [from, value] : schedule) {
      if (static_cast<double>(clock) >= from) bound = value;
    }
    return bound;
  }
  std::int64_t highest_at(std::int64_t clock) const { return std::max(most, at(clock)); }

  template <class Visit>
  static void members(Visit&& visit) {
    visit("staleness", &StalenessBound::staleness);
    visit("schedule", &StalenessBound::schedule);
    visit("most", &StalenessBound::most);
  }
};

struct ResolvedRule {
  // The row that has this rule: ssp with staleness 0 is bsp, and k-sync with late = "next" is k-async.
  std::string model = {};
  bool own_logic = false;  // the model is not one of psim's own
  Gate gate = Gate::none;
  std::int64_t group = 1;    // pushes per update
  bool varies = false;       // some updates have more than `group` pushes
  bool is_in_turn = false;   // each push makes an update when it comes
  bool drops_stale = false;  // only pushes computed at the current version count
  // A worker waits for an update whose pushes depend on the order of arrival, and several servers see
  // different orders. So the first shard decides for all. Otherwise half of the workers could wait for one
  // server and half for another.
  bool first_shard_decides = false;
  std::int64_t workers = 1;
  StalenessBound bound = {};
  // Seconds after which an update closes with the pushes that have arrived: since its first push, and since
  // the last update.
  std::optional<double> window = {}, deadline = {};
  // The same, from the median arrival of pushes in the last updates: this number of median absolute
  // deviations later.
  std::optional<double> deadline_mad = {};
  // Seconds for which an update stays open after its condition has become true.
  std::optional<double> grace = {};

  bool closes_early() const { return window || deadline || deadline_mad; }  // perhaps with too few pushes
  bool closes_by_date() const { return closes_early() || grace; }
  bool has_bound() const { return gate == Gate::staleness; }
  // A worker waits for an update, and every update for a push of every worker.
  bool waits_for_all() const {
    return gate == Gate::version && group == workers && !closes_by_date() && !varies;
  }
  // Whether one of psim's own models has this gate.
  bool waits_for(Gate event) const { return gate == event && !own_logic; }

  template <class Visit>
  static void members(Visit&& visit) {
    using T = ResolvedRule;
    visit("model", &T::model);
    visit("own_logic", &T::own_logic);
    visit("gate", &T::gate);
    visit("group", &T::group);
    visit("varies", &T::varies);
    visit("is_in_turn", &T::is_in_turn);
    visit("drops_stale", &T::drops_stale);
    visit("first_shard_decides", &T::first_shard_decides);
    visit("workers", &T::workers);
    visit("bound", &T::bound);
    visit("window_s", &T::window);
    visit("deadline_s", &T::deadline);
    visit("deadline_mad", &T::deadline_mad);
    visit("grace_s", &T::grace);
  }
};

}  // namespace psim
