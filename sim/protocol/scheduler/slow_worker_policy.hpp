// The treatment of workers that are slow for a long time. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/protocol/ids.hpp"
#include "sim/protocol/scheduler/slow_nodes.hpp"

namespace psim {

// A flagged worker stays; a removed one leaves; a replaced one leaves and a spare starts.
enum class SlowAction : std::uint8_t { flag, remove, replace };

class SlowWorkerPolicy {
 public:
  struct Options {
    NodeId first_worker = 1;
    std::uint32_t workers = 1;
    double factor = 2;
    std::int64_t window = 5;
    SlowAction action = SlowAction::flag;
    std::vector<NodeId> spares = {};
  };
  explicit SlowWorkerPolicy(Options options)
      : options_(std::move(options)), search_(options_.workers, options_.factor, options_.window) {}

  struct Verdict {
    SlowNodes::Found found;
    SlowAction action = SlowAction::flag;
    std::optional<NodeId> spare = {};  // the spare that starts
  };
  // The worker took `seconds` a sample in a clock.
  std::optional<Verdict> report(NodeId worker, double seconds);
  // Whether it must leave. The request may get lost, so the scheduler repeats it with the next report.
  bool is_unwanted(NodeId worker) const { return unwanted_.contains(worker); }
  // The node is suspected.
  void forget(NodeId node) {
    if (is_worker(node)) search_.forget(node - options_.first_worker);
  }
  // The node has been started again.
  void begins_anew(NodeId node);

 private:
  bool is_worker(NodeId node) const {
    return node >= options_.first_worker && node < options_.first_worker + options_.workers;
  }

  Options options_;
  SlowNodes search_;
  std::size_t spares_used_ = 0;
  std::set<NodeId> unwanted_;
};

}  // namespace psim
