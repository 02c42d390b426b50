// A shard's state and log, for tests of one part of its server.
#pragma once

#include <utility>

#include "sim/protocol/server/shard_context.hpp"
#include "tests/sim/protocol/server_driver.hpp"

namespace psim::test {

struct OneShard {
  explicit OneShard(const ConsistencySpec& spec, std::int64_t workers = 2, ReplicationSpec copies = {})
      : OneShard(
            ShardState::Options{
                .first_worker = first_worker, .rule = shared_rule(spec, workers), .steps = 10},
            copies) {}
  OneShard(ShardState::Options options, ReplicationSpec copies)
      : state(std::move(options), std::nullopt, 4),
        replication(copies, {.timeout = 1}, state.options, server_node) {}

  ShardContext at(double now = 0) { return {state, replication, now, log}; }
  // The shard has a replica that has its state.
  void add_replica(NodeId replica) {
    replication.set_copies({.primary = server_node, .replicas = {replica}}, state, 0, log);
    replication.confirm(replica, 0, state, 0, log);
    log.sent.clear();
    log.lines.clear();
  }
  // A push that arrives.
  Push push(std::uint32_t worker, std::int64_t number = 0, std::int64_t version = 0) {
    const Push push{.worker = first_worker + worker, .number = number, .version = version};
    if (state.count_arrived(push)) state.updates.note_version(push);
    return push;
  }

  ShardState state;
  Replication replication;
  Log log;
};

}  // namespace psim::test
