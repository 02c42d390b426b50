// The interface between a scheduler and the network and run around it.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/protocol/message.hpp"
#include "sim/protocol/scheduler/slow_worker_policy.hpp"
#include "sim/protocol/view.hpp"

namespace psim {

class ShardLoads;

// Receives a scheduler's messages and decisions. `job`: the number of a job in the run.
class SchedulerOutbox {
 public:
  virtual ~SchedulerOutbox() = default;
  virtual void send(Message message) = 0;
  // Sends an answer to a question that may come again, unless the same answer is on its way.
  virtual void send_once(Message message) = 0;

  // Facts that jobs know, and messages do not contain.
  virtual bool is_over(std::size_t job) const = 0;         // it has ended; other jobs may continue
  virtual bool some_completed(std::size_t job) const = 0;  // some worker has done all its steps
  virtual bool all_through(std::size_t job) const = 0;     // each has finished, has left, or has not joined
  virtual bool has_completed(NodeId worker) const = 0;
  virtual bool awaits(NodeId worker) const = 0;  // it is or will be present, with steps left

  // The job's workers have finished.
  virtual void ends(std::size_t /*job*/) {}
  // The last worker that the others waited for is gone for good.
  virtual void waits_no_longer(std::size_t /*job*/) {}
  // A view removes the worker, or includes it again.
  virtual void takes_out(NodeId /*worker*/, bool /*is_out*/) {}
  // `silence`: the cause; none if the node was gone before this scheduler started.
  virtual void suspects(NodeId /*node*/, std::int64_t /*view*/, const std::optional<Cause>& /*silence*/) {}
  virtual void announces(std::int64_t /*view*/) {}
  // No node has been told this view yet.
  virtual void has_new_view(const View& /*view*/, const ShardLoads& /*loads*/) {}
  virtual void is_slow(NodeId /*worker*/, const SlowWorkerPolicy::Verdict& /*verdict*/) {}
  virtual void start_spare(NodeId /*worker*/) {}
};

}  // namespace psim
