// When servers and the storage work on messages.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

class Service {
 public:
  // A message that a node has worked on from `begin` until `end`. Those of one node do not overlap, but
  // may come after events that are later than `end`.
  struct Work {
    std::uint32_t node = 0, sender = 0;
    double begin = 0, end = 0;
    std::int64_t clock = 0, message = -1;
  };
  using OnWork = std::function<void(const Work&)>;

  Service(const Facts& facts, OnWork on_work) : facts_(facts), on_work_(std::move(on_work)) {}
  void on(const Row& row);
  void close(double end);

 private:
  struct Job {
    Work work;
    double operations = 0;  // not done yet
    bool is_begun = false;
  };
  struct Server {
    std::deque<Job> queue;                  // the first one is in hand
    double now = 0, factor = 1;             // of its speed, by faults
    std::map<std::int64_t, double> slowed;  // by fault
  };
  // Works until `until`.
  void pass(std::uint32_t node, double until);
  void stop(std::uint32_t node);
  bool is_storage(std::uint32_t node) const;  // or another node that has no disk
  void on_fault(const Row& row);
  void on_storage(const Row& row);

  const Facts& facts_;
  OnWork on_work_;
  std::map<std::uint32_t, Server> servers_;
  std::deque<Work> disk_;  // what the storage has still to do
  double disk_free_ = 0;
};

}  // namespace psim::analysis
