// What a scheduler hands on to the network and the run around it, and what it asks them.
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
  // Unless the same message is on its way: an answer to a question that may come again.
  virtual void send_once(Message message) = 0;

  // What jobs know, and messages do not tell.
  virtual bool is_over(std::size_t job) const = 0;         // it has ended, although others may go on
  virtual bool some_completed(std::size_t job) const = 0;  // some worker has done all its steps
  virtual bool all_through(std::size_t job) const = 0;     // each has done so, has left, or has not joined
  virtual bool has_completed(NodeId worker) const = 0;
  virtual bool awaits(NodeId worker) const = 0;  // it is, or will be, there, with steps to do

  // Its workers are through.
  virtual void ends(std::size_t /*job*/) {}
  // The last worker that the others waited for is gone for good.
  virtual void waits_no_longer(std::size_t /*job*/) {}
  // A view takes the worker out, or has it.
  virtual void takes_out(NodeId /*worker*/, bool /*is_out*/) {}
  // `silence`: the cause, unless the node was gone before this scheduler was there.
  virtual void suspects(NodeId /*node*/, std::int64_t /*view*/, const std::optional<Cause>& /*silence*/) {}
  virtual void announces(std::int64_t /*view*/) {}
  // Nobody has been told this view yet.
  virtual void has_new_view(const View& /*view*/, const ShardLoads& /*loads*/) {}
  virtual void is_slow(NodeId /*worker*/, const SlowWorkerPolicy::Verdict& /*verdict*/) {}
  virtual void start_spare(NodeId /*worker*/) {}
};

}  // namespace psim
