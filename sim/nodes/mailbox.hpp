// A worker's messages to and from the other workers, where there are no servers: as an algorithm wants them,
// whatever order they come in, and whatever gets lost.
//
// Decisions:
// - A connection between workers is one of TCP: its sender knows when a message is there, and sends it again
//   until then (recovery.retry). That costs the message's bytes again; what tells the sender costs nothing.
// - Workers work in groups, and a group's number is the view's that made it. What an older group said is of
//   no use any more. What a newer one says is kept, because its view may come later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

// Thrown where a worker waits for messages, when it hears of a newer group than its own.
struct NewGroup {
  SharedView view;
};

class Mailbox {
 public:
  // `tracks`: somebody asks when messages are there, or they may get lost.
  Mailbox(JobContext& job, NodeId node, bool tracks) : job_(job), node_(node), tracks_(tracks) {}

  // Never blocks.
  void send(NodeId to, Body&& body) { send_about(0, to, std::move(body)); }
  // ... about a part of the model.
  void send_about(std::uint32_t part, NodeId to, Body&& body);
  // The message from `from` with this kind, clock and number.
  Message take(MessageKind kind, NodeId from, std::int64_t clock, std::int64_t number);
  // ... with this kind.
  Message take_any(MessageKind kind, NodeId from);
  // Until all that was sent is there.
  void flush();
  // Until `is_over`; `what` it waits for in the meantime, for the record. None: it does not wait, it
  // computes.
  void wait_until(std::optional<Awaited> what, std::int64_t clock, const std::function<bool()>& is_over);
  // Takes the messages that have come, and waits for no more. A worker that needs nobody waits for no
  // message, and would else never hear of a newer group, or of a scheduler that asks.
  void look();
  // Who gets samples of the database and the scheduler's assignments.
  void on_other(std::function<void(const Message&)> receiver) { other_ = std::move(receiver); }
  // Whether the worker computes meanwhile: then nobody waits.
  void computes(bool does);

  // A message of this worker's has arrived. Runs in the simulation kernel.
  void arrived(const Message& message);
  void keep(Message&& message) { early_.push_back(std::move(message)); }
  // All is forgotten.
  void clear();
  // From now on it belongs to the group of this view; null where no node may fail. Where the others wait for
  // whoever is lost there is only one group.
  void join(const SharedView& view);
  // Waits for a newer group.
  [[noreturn]] void await_group();
  NodeId node() const { return node_; }
  // The newest that it knows; -1: none.
  std::int64_t view() const { return newest_ ? newest_->number : -1; }
  // What it waits for now; none: nothing.
  struct Wanted {
    MessageKind kind = MessageKind::join;
    NodeId from = 0;
    std::optional<std::int64_t> clock = {}, number = {};  // none: any
  };
  const std::optional<Wanted>& wanted() const { return wanted_; }
  bool awaits_group() const { return awaits_group_; }

 private:
  struct Sending {
    Message message;
    Backoff backoff;
    double due;
  };
  Message take(const Wanted& wanted);
  // What it waits for, for the record, and since when.
  struct Waiting {
    Awaited what;
    double since;
    std::optional<std::int64_t> clock;
  };
  std::optional<Message> next();
  void keep_next();
  std::optional<Message> receive();
  void send_again();
  bool is_old(const Message& message) const;
  void begin_wait(Awaited what, std::optional<std::int64_t> clock) {
    waiting_ = {what, Agenda::now(), clock};
  }
  void end_wait(const Heard& last);

  JobContext& job_;
  NodeId node_;
  bool tracks_;
  std::uint32_t group_ = 0;
  SharedView newest_;
  std::vector<Message> early_;
  std::vector<Sending> sending_;
  std::optional<Wanted> wanted_;
  std::optional<Waiting> waiting_;
  bool flushes_ = false, awaits_group_ = false;
  std::function<void(const Message&)> other_;
  Heard heard_;                  // the last one of these
  std::int64_t delivered_ = -1;  // the last event of an arrival of its own messages
  bool computes_ = false;
  double idle_since_ = 0;
};

}  // namespace psim
