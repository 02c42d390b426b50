// The data for all exports of a run, each sorted once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/graph.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

// Dates are simulated seconds.
struct Message {
  std::int64_t number = 0;   // number of its sending, as in all tables of run.db
  double sent = 0, end = 0;  // end: the arrival or the loss
  std::uint32_t from = 0, to = 0;
  std::string kind;
  std::int64_t clock = 0;
  std::uint64_t bytes = 0;
  bool arrives = false;
};

// A push that a server applies.
struct Applied {
  double at = 0;
  std::uint32_t server = 0;
  std::int64_t staleness = 0;  // updates
};

struct Begun {
  double at = 0;
  std::uint32_t worker = 0;  // the number of the worker, not of its node
  std::int64_t clock = 0;
};

struct LossCurve {
  std::string name;                               // of the group; empty if there is only one
  std::vector<std::pair<double, double>> points;  // date and loss
};

struct Recording {
  std::string name;  // of the run's folder
  Timeline line;
  std::vector<Message> messages;  // by number
  std::vector<Applied> applied;
  std::vector<Begun> begun;  // steps
  std::vector<LossCurve> curves;
  double from = 0, until = 0;  // the exported time
};

// Throws Unverifiable.
Recording recording_of(const RunRecord& run, std::string name);

// The part in [from, until]: spans are cut, messages stay whole. Both dates must be within the run.
Recording part_of(Recording all, double from, double until);

// The messages on the critical path to the run's end, by number.
std::vector<std::int64_t> messages_of_path(const RunRecord& run, const CausalGraph& graph);

}  // namespace psim::analysis
