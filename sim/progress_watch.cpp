#include "sim/progress_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/scenario/spec/nodes.hpp"

namespace psim {

ProgressWatch::ProgressWatch(Parts parts, std::function<void()> end) : parts_(parts), end_(std::move(end)) {}

// Entries that repeat without end would keep the clock running. When they stop, SimGrid detects the deadlock.
bool ProgressWatch::is_quiet() const {
  const Network& network = parts_.network;
  if (Agenda::now() == 0 || network.in_flight() > 0) return false;
  for (NodeId node = 0; node < first_inference_node(parts_.scenario.cluster); ++node) {
    if (network.has_mail(node) && !parts_.speeds.is_frozen(node)) return false;
  }
  return !computes() && !starts_nodes();
}

bool ProgressWatch::starts_nodes() const {
  return std::ranges::any_of(
      parts_.jobs, [](const Job& job) { return !job.is_over() && job.state().progress.some_start(); });
}

bool ProgressWatch::computes() const {
  return std::ranges::any_of(parts_.jobs, [this](const Job& job) {
    const NodeUsage& usage = job.state().usage;
    for (NodeId node = 0; node < usage.nodes(); ++node) {
      if (usage.computations(node) > 0 && !parts_.speeds.is_frozen(node)) return true;
    }
    return false;
  });
}

bool ProgressWatch::is_stuck() { return parts_.scenario.may_fail() ? waits_too_long() : is_quiet(); }

// No computation has ended and no values have arrived for a long time, no node computes now, no values are on
// their way, and no fault will change this. Faults that repeat without end have had several turns without
// effect. A lost transfer may be noticed late.
bool ProgressWatch::waits_too_long() const {
  double since = std::max(parts_.recorder.stats().last_progress, parts_.network.last_transfer());
  if (parts_.faults != nullptr) since = std::max(since, parts_.faults->last_once());
  const double silence = Agenda::now() - since;
  const double patience = parts_.scenario.recovery.patience.value;
  if (silence <= patience) return false;  // every heartbeat calls this: the cheap test comes first
  if (computes() || starts_nodes() || parts_.network.oldest_transfer() ||
      (parts_.faults != nullptr && parts_.faults->once_to_come()))
    return false;
  return silence > patience + parts_.network.slowest_loss() +
                       (parts_.faults != nullptr ? parts_.faults->some_turns() : 0);
}

// Faults undo every computation again and again, and no worker gets further than before.
bool ProgressWatch::goes_in_circles() const {
  // Steps since the last progress over the steps before; `least` is added to the steps before.
  constexpr std::int64_t circles = 20, least = 100;
  if (parts_.faults == nullptr || parts_.faults->once_to_come()) return false;
  const RunStats& stats = parts_.recorder.stats();
  return stats.begun - stats.begun_in_time > circles * (stats.begun_in_time + least);
}

void ProgressWatch::look_for_advances() {
  const std::int64_t advances = parts_.recorder.stats().advances;
  if (advances <= advances_) return;
  advances_ = advances;
  work_then_ = work();
  advanced_at_ = Agenda::now();
  if (parts_.faults != nullptr) turns_then_ = parts_.faults->turns();
}

// Without a set duration such a run would never end.
bool ProgressWatch::is_set_back_too_often() {
  constexpr std::int64_t many = 100;
  if (parts_.faults == nullptr || parts_.faults->once_to_come() || parts_.scenario.training.duration)
    return false;
  const std::int64_t turns = parts_.faults->turns() - turns_then_;
  if (turns < many / 2) half_at_ = Agenda::now();
  if (turns < many) return false;
  if (parts_.network.oldest_transfer().value_or(half_at_) < half_at_) return false;
  return std::ranges::none_of(parts_.jobs, [this](const Job& job) {
    for (NodeId node = job.plan().first_worker(); node < job.plan().past_workers(); ++node) {
      if (job.state().usage.busy_since(node).value_or(half_at_) < half_at_) return true;
    }
    return false;
  });
}

// Limits the machine's work, whatever the simulated clock shows. Microseconds between heartbeats, or a step
// of hours, would keep the machine busy for days.
bool ProgressWatch::works_in_vain() {
  constexpr std::uint64_t least = 1'000'000, least_of_node = 50'000;  // events and entries of the agenda
  constexpr std::uint64_t times = 30;  // times the work that one advance needed so far
  constexpr std::uint64_t with_fault = 10, with_transfer = 3;  // times as much while one is going to end
  const std::uint64_t usual = work_then_ / std::max<std::uint64_t>(1, static_cast<std::uint64_t>(advances_));
  const std::uint64_t nodes = node_count(parts_.scenario.cluster);
  const std::uint64_t most = std::max(least + nodes * least_of_node, times * usual);
  const std::uint64_t spent = work() - work_then_;
  if (spent <= most / 2) return false;  // every heartbeat calls this: the cheap test comes first
  const bool fault_ends = parts_.faults != nullptr && parts_.faults->once_to_come();
  if (fault_ends || parts_.network.oldest_transfer()) work_with_hope_ = work();
  return spent > most * (fault_ends ? with_fault : with_transfer) ||
         work() - std::max(work_then_, work_with_hope_) > most;
}

// The scheduler finds nodes silent and hears of them again faster than the links carry its views.
bool ProgressWatch::views_pile_up() const {
  constexpr std::size_t many = 100;  // views on their way to each node
  const std::size_t most = 10 * many + many * node_count(parts_.scenario.cluster);
  return parts_.network.in_flight(MessageKind::view) > most &&
         (parts_.faults == nullptr || !parts_.faults->once_to_come());
}

// SimGrid sees no deadlock while heartbeats go on.
bool ProgressWatch::is_hopeless() {
  look_for_advances();
  if (is_set_back_too_often()) {
    end_as(
        {fmt::format("at {:.6g} s nothing new has come since {:.6g} s, over {} dates of faults: faults come "
                     "faster than the training recovers from them, so the run would never end",
                     Agenda::now(), advanced_at_, parts_.faults->turns() - turns_then_)});
    return true;
  }
  if (views_pile_up()) {
    end_as(
        {fmt::format("at {:.6g} s {} views are on their way: suspicions come faster than the links carry "
                     "the scheduler's views; recovery.timeout is too short for these links",
                     Agenda::now(), parts_.network.in_flight(MessageKind::view))});
    return true;
  }
  if (works_in_vain()) {
    std::vector<std::string> why{fmt::format(
        "at {:.6g} s nothing new has come from the last {} events, which took {:.3g} s of "
        "simulated time; with a longer recovery.heartbeat or recovery.retry the run has fewer events",
        Agenda::now(), work() - work_then_, Agenda::now() - advanced_at_)};
    const std::vector<std::string> more = who_waits();
    why.insert(why.end(), more.begin(), more.end());
    end_as(std::move(why));
    return true;
  }
  if (!waits_too_long() && !goes_in_circles()) return false;
  if (stuck_.empty()) parts_.agenda.at(Agenda::now(), end_);
  note_stuck();
  return true;
}

void ProgressWatch::give_up(NodeId node, std::string_view what) {
  end_as({fmt::format("at {:.6g} s {} {}", Agenda::now(), node_name(parts_.scenario.cluster, node), what)});
}

void ProgressWatch::end_as(std::vector<std::string> why) {
  if (stuck_.empty()) parts_.agenda.at(Agenda::now(), end_);
  stuck_ = std::move(why);
}

void ProgressWatch::note_stuck() {
  stuck_ = who_waits();
  if (stuck_.empty()) stuck_.emplace_back("no event is left, and no node waits for another node");
}

std::vector<std::string> ProgressWatch::who_waits() const {
  std::vector<std::string> lines;
  for (const Job& job : parts_.jobs) {
    if (job.is_over()) continue;
    const std::vector<std::string> more = job.nodes().who_waits();
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

}  // namespace psim
