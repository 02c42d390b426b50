// The messages about tasks (tasks.hpp). `task` numbers the tasks of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/protocol/ids.hpp"
#include "sim/protocol/message_facts.hpp"
#include "sim/protocol/task_kind.hpp"

namespace psim {

// Scheduler to worker: run this task. A gradient and a push take the result of the task `source`.
struct RunTask {
  std::optional<std::uint64_t> task = {};  // none: no task is left
  TaskKind kind = TaskKind::pull;
  std::int64_t clock = 0;
  std::int64_t batch = 0;  // gradient: the number of its batch in the clock
  std::uint64_t source = 0;

  std::uint64_t wire_bytes() const { return 2 * two_words; }
  MessageFacts facts() const {
    return {.kind = MessageKind::run,
            .clock = clock,
            .part = task ? std::optional(static_cast<std::int64_t>(*task)) : std::nullopt};
  }
};
// Worker to scheduler: the task is done. `pushes`: the number of pushes that the worker has sent.
struct TaskDone {
  std::uint64_t task = 0;
  std::int64_t pushes = 0;

  std::uint64_t wire_bytes() const { return two_words; }
  MessageFacts facts() const { return {.kind = MessageKind::done, .part = static_cast<std::int64_t>(task)}; }
};
// Scheduler to a shard's server: run this function on `values` values. `push`: the push for the function
// apply.
struct Call {
  std::uint64_t task = 0;
  TaskKind function = TaskKind::update;
  double amount = 0;
  std::optional<PushId> push = {};
  std::size_t values = 0;

  std::uint64_t wire_bytes() const { return two_words + (push ? id_bytes : 0); }
  MessageFacts facts() const {
    return {.kind = MessageKind::call, .has_shard = true, .part = static_cast<std::int64_t>(task)};
  }
};
// The answer. For a norm it has this shard's sum of squares.
struct Returned {
  std::uint64_t task = 0;
  double value = 0;

  std::uint64_t wire_bytes() const { return two_words; }
  MessageFacts facts() const {
    return {.kind = MessageKind::returned, .has_shard = true, .part = static_cast<std::int64_t>(task)};
  }
};

}  // namespace psim
