// The tasks of a client: pulls and pushes of several shards at once, each with a timestamp. A task is done
// when every shard that it went to has answered (Li et al., OSDI 2014, section 3.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {

using Timestamp = std::int64_t;

class OpenTasks {
 public:
  Timestamp begin() { return ++last_; }
  // The task waits for one more answer.
  void expect(Timestamp task) { ++open_[task]; }
  void answered(Timestamp task) {
    const auto it = open_.find(task);
    expects(it != open_.end(), "an answered task is open");
    if (--it->second == 0) open_.erase(it);
  }
  bool is_done(Timestamp task) const { return !open_.contains(task); }

  // The task waits for the acknowledgement of one push.
  void expect_push(Timestamp task, std::uint32_t shard, std::int64_t number) {
    pushes_[{shard, number}] = task;
    expect(task);
  }
  // No task waits any more for the pushes `from` to `to` - 1 of a shard.
  void pushes_answered(std::uint32_t shard, std::int64_t from, std::int64_t to) {
    const auto end = pushes_.lower_bound({shard, to});
    for (auto push = pushes_.lower_bound({shard, from}); push != end; push = pushes_.erase(push))
      answered(push->second);
  }
  // Each waiting push of `shard` now also waits for an acknowledgement of `upper`.
  void cut(std::uint32_t shard, std::uint32_t upper) {
    auto push = pushes_.lower_bound({shard, 0});
    for (; push != pushes_.end() && push->first.first == shard; ++push)
      expect_push(push->second, upper, push->first.second);
  }

 private:
  std::map<Timestamp, std::size_t> open_;                               // answers that each task waits for
  std::map<std::pair<std::uint32_t, std::int64_t>, Timestamp> pushes_;  // by shard and number
  Timestamp last_ = 0;
};

}  // namespace psim
