// The load of the servers before and after shards move: values pushed to each server and pulled from it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/record/event.hpp"

namespace psim {

// A view that sent shards to other servers.
struct Rebalancing {
  double at = 0;  // date
  std::int64_t view = 0;
  std::int64_t shards = 0, cuts = 0, values = 0;  // moved shards; cut shards; values of the moved shards
  // By server, values per second: since the last such view, and until the next one or the end.
  std::vector<double> before = {}, after = {};
};

class LoadLog {
 public:
  explicit LoadLog(std::size_t servers) : values_(servers) {}
  void on(double at, const Sent& message);
  void on(double at, const ShardCut& cut);
  void on(double at, const ShardMove& move);
  void close(double at);  // the run is over
  const std::vector<Rebalancing>& all() const { return all_; }

 private:
  Rebalancing& of_view(double at, std::int64_t view);
  std::vector<double> take_rates(double at);

  double since_ = 0;
  std::vector<std::uint64_t> values_;  // by server, since that date
  std::vector<Rebalancing> all_;
};

}  // namespace psim
