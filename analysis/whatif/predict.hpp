// How long a run would have taken with something changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/causes/graph.hpp"
#include "analysis/links/links.hpp"
#include "analysis/run_record.hpp"
#include "analysis/whatif/change.hpp"

namespace psim::analysis {

// How messages share links at the same time. Each link is shared equally. A message is as fast as its share
// of the fullest link on its way, and no faster than alone.
//
// Decisions:
// - The load of a message is not its bytes. It is the amount that the message would have carried under this
//   rule between its dates in the run. So the load includes turns and everything else that made the message
//   slower or faster than the rule, and with unchanged dates the message takes exactly as long as in the run.

// The ways of all pairs of nodes that exchange messages, under other bandwidths and latencies.
class Ways {
 public:
  explicit Ways(Lone lone) : lone_(std::move(lone)), messages_(lone_.links().size(), 0) {}

  // The number of the way (small, without gaps). Counts one message on it.
  std::uint32_t number_of(std::uint32_t from, std::uint32_t to);
  // The link of the way with the most messages; without links: a number that no other way has.
  std::uint32_t busiest(std::uint32_t way) const;
  std::span<const std::uint32_t> links(std::uint32_t way) const { return ways_[way].links; }
  double latency(std::uint32_t way) const { return ways_[way].latency; }  // seconds
  // Bytes per second of a message alone, with bandwidths and latencies multiplied by these factors; infinity:
  // no limit.
  double rate(std::uint32_t way, double bandwidth, double latency) const;
  std::size_t link_count() const { return lone_.links().size(); }
  std::size_t way_count() const { return ways_.size(); }
  const Link& link(std::uint32_t number) const { return lone_.links()[number]; }

 private:
  struct Way {
    std::vector<std::uint32_t> links;   // that are shared
    double latency, bandwidth, window;  // window: bytes per second
  };
  Lone lone_;
  std::vector<std::uint64_t> messages_;  // by link
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::vector<Way> ways_;
};

class Sharing {
 public:
  // `bandwidth`, `latency`: factors for those of the run.
  Sharing(const Ways& ways, double bandwidth, double latency);

  // `message`: its number, small and without gaps. `left`: its load.
  void begin(std::uint32_t message, std::uint32_t way, double now, double left);
  void end(std::uint32_t message, double now);
  // The remaining load.
  double left(std::uint32_t message) const { return loads_[message].left; }

  // Among messages with the same busiest link: the message that ends first if nothing changes.
  struct Next {
    std::uint32_t message = 0;
    double at = 0;  // seconds
  };
  // Calls `f` with each busiest link whose messages have changed since the last call, and the next message to
  // end there. In an incast a link has a thousand messages, and each change affects all of them. Announcing
  // every end would cost a thousand times as much.
  template <class F>
  void each_changed(F&& f) {
    for (const std::uint32_t link : changed_) {
      is_changed_[link] = false;
      const std::vector<std::uint32_t>& messages = by_busiest_[link];
      if (messages.empty()) continue;
      Next next{messages.front(), end_of(messages.front())};
      for (const std::uint32_t message : messages) {
        if (const double at = end_of(message); at < next.at) next = {message, at};
      }
      f(link, next);
    }
    changed_.clear();
  }
  // The range of the numbers that `each_changed` calls links.
  std::size_t link_count() const { return by_busiest_.size(); }

 private:
  struct Load {
    std::uint32_t way = 0;
    double left = 0, rate = 0, since = 0;
  };
  static void settle(Load& load, double now) {
    load.left -= load.rate * (now - load.since);
    load.since = now;
  }
  double end_of(std::uint32_t message) const {
    const Load& load = loads_[message];
    return load.left > 0 ? load.since + load.left / load.rate : load.since;
  }
  double rate_of(std::uint32_t way) const;
  void changes(std::uint32_t way);
  void share(std::uint32_t message, double now);
  void share_links(std::uint32_t way, double now);

  const Ways& ways_;
  double bandwidth_, latency_;
  std::vector<Load> loads_;
  std::vector<std::vector<std::uint32_t>> on_, by_busiest_;  // by link: the messages
  std::vector<std::uint32_t> changed_;
  std::vector<bool> is_changed_;  // by link
};

// How fast a worker computes at a date, as the scenario's stragglers say (sim/cluster/slowness.hpp).
class Speed {
 public:
  // `without`: workers (true) that count as never slow.
  Speed(const Facts& facts, const std::vector<bool>& without = {});

  // Seconds without slowness for the work that the worker did in [from, until).
  double work(std::uint32_t worker, double from, double until) const;
  // The end date of `work` (seconds without slowness) that begins at `from`.
  double end(std::uint32_t worker, double from, double work) const;

 private:
  struct Stretch {
    double share;  // of the full speed
    double until;  // seconds
  };
  Stretch at(std::uint32_t worker, double date) const;

  std::vector<std::vector<Straggler>> rows_;  // by worker; stragglers by chance are not in here
};

// Replays the causal graph of a run with other times between causes and effects: when would each moment come?
//
// Decisions:
// - A moment comes when all its causes allow it: t'(v) = max over causes u of t'(u) + least'(u, v). Without a
//   change this gives exactly the dates of the run.
// - Messages share links with the messages that are on their way at the new dates (predict.hpp). So the pass
//   visits moments in the order of the new dates.
// - The next message of a stream leaves when the message before it has left, one latency before that arrives.
// - Faults and moments without a cause keep their dates.
struct Hypothesis {
  std::vector<double> compute = {};   // by worker: factor for the length of a computation; empty: 1
  std::vector<bool> never_slow = {};  // by worker: no [[straggler]] slows it; empty: false
  // By worker and clock: another factor for computing; empty: 1.
  std::vector<std::vector<double>> of_clock = {};
  double bandwidth = 1, latency = 1, window = 1;  // factors for all links
  double server_work = 1, overhead = 1;  // factors for the time at servers, and at both ends of messages
};

// The way of a message, from its sending to the moment of its end. The time at its ends and the delay by a
// fault do not depend on links and stay unchanged.
struct Carried {
  std::uint32_t sending = 0, effect = 0;  // moments
  std::uint32_t way = 0;
  double before = 0;                       // seconds until it is on the links
  double latency = 0;                      // seconds on the links until its bytes flow
  double load = 0;                         // the amount to carry (see predict.hpp)
  double after = 0;                        // seconds from the end of the transfer to its effect
  std::uint32_t next = CausalGraph::none;  // the sending that waits until this message has left
};

class Replay {
 public:
  Replay(const RunRecord& record, const CausalGraph& graph, const Traffic& traffic);
  // The new date of each moment, in seconds.
  std::vector<double> dates(const Hypothesis& hypothesis) const;
  // The largest error of a date when nothing is changed, as a share of the last date.
  double error() const;

 private:
  class Pass;
  void find_messages(const Traffic& traffic);
  void weigh_messages();

  const CausalGraph& graph_;
  const Facts& facts_;
  Ways ways_;
  Speed speed_;
  std::vector<Carried> messages_;
  std::vector<std::uint32_t> message_of_;              // by moment: the message that ends here, or none
  std::vector<std::uint32_t> begun_by_;                // by moment: the message that begins here, or none
  std::vector<std::uint32_t> first_effect_, effects_;  // by moment: its effects
  double end_ = 0;                                     // the last date of the run, in seconds
};

// The progress of workers: when each has computed how many steps, and when it would have more.

// By worker: when it had computed each of its clocks, in seconds, ascending.
class Progress {
 public:
  Progress() = default;
  // `dates`: by moment. Only moments that the record has before `until` count.
  Progress(const CausalGraph& graph, const Facts& facts, const std::vector<double>& dates, double until);

  std::size_t workers() const { return dates_.size(); }
  std::int64_t steps() const;
  // The number of steps of the fastest worker.
  std::int64_t most() const;
  // When all workers together had computed `steps` steps; infinity: never.
  double date_of(std::int64_t steps) const;
  // The same, if the workers in `goes_on` continue after the end of the run at their mean time per step.
  double date_of_more(std::int64_t steps, const std::vector<bool>& goes_on) const;
  // When the last worker would have computed `steps` steps at its pace; infinity: some worker has no pace.
  double date_of_all(std::int64_t steps) const;
  // By worker: whether it still computed when the run ended. Its last step must be at most four mean steps
  // old.
  std::vector<bool> going_on(double end) const;

 private:
  double pace(std::size_t worker) const;
  std::vector<std::vector<double>> dates_;
};

struct Prediction {
  Progress progress;
  std::vector<bool> goes_on;  // by worker: it would compute more steps than the record has
  // Factor for dates that follow from steps, so that the last step of the unchanged run keeps its date.
  double scale = 1;
  double end = 0;  // seconds until the work of the run is done
};

// The course of a run, to compare it with a prediction.
struct Actual {
  Progress progress;
  bool is_finished = false;  // its workers finished; no target and no date ended it
  double end = 0;            // seconds
};

class Predictor {
 public:
  Predictor(const RunRecord& record, const CausalGraph& graph);

  const Actual& original() const { return original_; }
  bool is_stuck() const { return is_stuck_; }  // the run
  double replay_error() const { return replay_.error(); }
  // None: the record cannot tell what would happen.
  std::optional<Prediction> of(const Change& change) const;
  Prediction under(const Hypothesis& hypothesis) const;

 private:
  // Continues the pace that the run had before the first fault that the change removes.
  std::optional<Prediction> without_faults(const Change& change) const;

  const RunRecord& record_;
  const CausalGraph& graph_;
  Replay replay_;
  Actual original_;
  std::vector<bool> goes_on_;
  bool is_stuck_;
};

Actual actual(const RunRecord& record, const CausalGraph& graph);

// The error of a prediction, as a share of the time. If one of the two runs ended with fewer steps, both
// times are up to that number of steps. None: the runs have no steps in common.
std::optional<double> error_of(const Prediction& predicted, const Actual& original, const Actual& rerun);

// The date when a re-run had computed as many steps as the run. A prediction is about this date.
struct SameSteps {
  double seconds = 0;
  bool is_measured = true;  // false: it ended with fewer steps; its workers would continue at their pace
};
// None: the re-run would never get there.
std::optional<SameSteps> same_steps_of(const Actual& original, const Actual& rerun);

// The part of one worker in the slowdown. `removed`: the share of the slowdown that disappears if only this
// worker computes every step as fast as the median worker. `added`: the share that remains if all other
// workers do (Lin et al., OSDI 2025, 4).
struct Blamed {
  std::uint32_t worker = 0;
  double removed = 0, added = 0;
};
struct Attribution {
  double ideal = 0, slowdown = 1;  // seconds if every worker computes like the median one; total / ideal
  std::vector<Blamed> workers;  // only for a slowdown of at least `least_slowdown`; largest `removed` first
};
inline constexpr double least_slowdown = 1.03;
// None: the steps of the workers are not comparable, the run got stuck, or it has more than `most_blamed`
// workers. Each worker takes two passes over the graph.
inline constexpr std::uint32_t most_blamed = 64;
std::optional<Attribution> attribution_of(const RunRecord& record, const CausalGraph& graph,
                                          const Predictor& predictor);

}  // namespace psim::analysis
