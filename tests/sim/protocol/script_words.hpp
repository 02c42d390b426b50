// How a script's transcript says what nodes send each other: "w0 -> s0: push 0 of version 2, gradient 1".
#pragma once

#include <string>

#include "sim/protocol/message.hpp"

namespace psim::test {

// Nodes of one cluster: the scheduler, then the servers, then the workers.
struct Names {
  std::uint32_t servers = 1, shards = 1;
  bool fresh = false;  // a push's clock is the version that it was computed on

  NodeId first_worker() const { return 1 + servers; }
  bool is_server(NodeId node) const { return node > 0 && node <= servers; }
  bool is_worker(NodeId node) const { return node > servers; }
  std::string of(NodeId node) const;           // "sched", "s0", "w1"
  NodeId find(const std::string& name) const;  // std::runtime_error if there is no such node

  std::string describe(const Message& message) const;
  std::string describe(const View& view) const;
  std::string describe(const std::vector<PushId>& pushes) const;  // "w0#1 w1#0"
  std::string describe(const std::vector<bool>& members) const;   // "w0 w2"
};

std::string number(double value);  // as short as it can be read
std::string number(const Slice& values);

}  // namespace psim::test
