// When a server decides what it answers to a pull: when the pull comes, or when something releases it. The
// answer is sent then; or later, where messages of a connection take turns. What its server hears meanwhile
// is not for this answer: a worker that comes back then does not hold it back.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "analysis/run_record.hpp"

namespace psim::analysis {

class Decisions {
 public:
  void on(const Row& row) {
    if (row.is("sent", "join"))  // its pulls count from 1 again
      std::erase_if(newest_, [&](const auto& one) { return std::get<2>(one.first) == row.node; });
    const bool comes = row.is("received", "pull");
    if (!comes && !row.is("release")) return;
    Pull& newest = newest_[{row.shard, row.node, row.peer}];
    const bool is_repeated = comes && row.pull == newest.number;  // perhaps it is answered already
    if (row.pull >= newest.number && !is_repeated) newest = {.number = row.pull, .event = row.number};
  }
  // The event before which the answer, which is sent now, was not decided. -1: nothing is known, for example
  // because its worker has asked for more since.
  std::int64_t earliest(const Row& answer) const {
    const auto newest = newest_.find({answer.shard, answer.node, answer.peer});
    const bool is_its = newest != newest_.end() && newest->second.number == answer.pull;
    return is_its ? newest->second.event : -1;
  }

 private:
  struct Pull {
    std::int64_t number = 0, event = -1;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Pull>
      newest_;  // by shard, server and worker
};

}  // namespace psim::analysis
