// When a server decides its answer to a pull: when the pull arrives, or when an event releases it. The server
// sends the answer at once, or later if messages of a connection take turns. Events in between do not change
// the answer: a worker that returns in between does not delay it.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "analysis/run_record.hpp"

namespace psim::analysis {

class Decisions {
 public:
  void on(const Row& row) {
    if (row.is<Sent>(MessageKind::join))  // its pulls count from 1 again
      std::erase_if(newest_, [&](const auto& one) { return std::get<2>(one.first) == row.node; });
    const bool comes = row.is<Received>(MessageKind::pull);
    if (!comes && !row.is<Release>()) return;
    Pull& newest = newest_[{row.shard, row.node, row.peer}];
    const bool is_repeated = comes && row.pull == newest.number;  // the pull may be answered already
    if (row.pull >= newest.number && !is_repeated) newest = {.number = row.pull, .event = row.number};
  }
  // The earliest event at which the server can have decided this answer. -1: unknown, for example because the
  // worker has sent a newer pull since.
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
