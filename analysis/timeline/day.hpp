// The use of each worker's time, from its events. The summary, `psim verify` and time lines split the time in
// the same way. With several uses at once, the first of these counts:
//   down     it has crashed, has left, or has not joined yet
//   compute  it computes a gradient, kept or not
//   network  a message from or to it is on its way
//   wait     none of them: it waits for others
// A worker's time ends after its last clock, or with the run.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

// service: a server or the storage's disk works on a message.
enum class Use : std::uint8_t { compute, network, wait, service, down };
std::string_view name_of(Use use);

class Days {
 public:
  // Gets the pieces of time of each worker, without gaps.
  using OnPiece = std::function<void(std::uint32_t worker, double begin, double end, Use)>;

  Days(const Facts& facts, const Json& summary, OnPiece on_piece);
  void on(const Row& row);
  // Passes on the worker's time until `now`, although nothing changes.
  void mark(std::uint32_t worker, double now) { pass(worker, now); }
  void close();

 private:
  struct TimeSpan {
    double begin, end;
    Use use;
  };
  struct Day {
    bool here = true, computes = false, in_step = false, through = false;
    int on_the_way = 0;  // messages
    double since = 0;
    double last = 0;              // its time ends here at the latest
    std::vector<TimeSpan> later;  // since it finished: counts if it computes again
  };
  // Accounts for the time until `now`, before a change.
  Day& pass(std::uint32_t worker, double now);
  Day& at(const Row& row, std::uint32_t node) { return pass(facts_.worker(node), row.at); }
  void on_message(const Row& row);
  void joins(std::uint32_t worker, double now);

  const Facts& facts_;
  OnPiece on_piece_;
  std::vector<Day> days_;  // by worker
};

}  // namespace psim::analysis
