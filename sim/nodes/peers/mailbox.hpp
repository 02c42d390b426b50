// A worker's messages to and from the other workers, where there are no servers. An algorithm takes messages
// in the order that it needs. The mailbox handles other orders of arrival, and losses.
//
// Decisions:
// - A connection between workers works like TCP: its sender knows when a message has arrived, and sends it
//   again until then (recovery.retry). A repetition costs the message's bytes again. The confirmation costs
//   nothing.
// - Workers work in groups. The number of a group is the number of the view that made it. Messages of older
//   groups are no longer of use. The mailbox keeps messages of newer groups, because the view may come later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/nodes/job/job_context.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

// A worker that waits for messages throws this when it hears of a newer group than its own.
struct NewGroup {
  SharedView view;
};

class Mailbox {
 public:
  // `tracks`: the mailbox needs to know when messages arrive, or messages may be lost.
  Mailbox(JobContext& job, NodeId node, bool tracks) : job_(job), node_(node), tracks_(tracks) {}

  // Never blocks.
  void send(NodeId to, Body&& body) { send_about(0, to, std::move(body)); }
  // The same, about a part of the model.
  void send_about(std::uint32_t part, NodeId to, Body&& body);
  // Waits for the message from `from` with this kind, clock and number.
  Message take(MessageKind kind, NodeId from, std::int64_t clock, std::int64_t number);
  // The same, with any clock and number.
  Message take_any(MessageKind kind, NodeId from);
  // Waits until all sent messages have arrived.
  void flush();
  // Handles messages until `is_over`. `what`: the reason of the wait, for the record; none if the worker
  // computes at the same time.
  void wait_until(std::optional<Awaited> what, std::int64_t clock, const std::function<bool()>& is_over);
  // Takes the messages that have come, without waiting. A worker alone in its group waits for no message.
  // Without look() it would never hear of a newer group, or of a scheduler that asks.
  void look();
  // `receiver` gets the database's samples and the scheduler's assignments.
  void on_other(std::function<void(const Message&)> receiver) { other_ = std::move(receiver); }
  // Whether the worker computes now. Then its waits do not count.
  void computes(bool does);

  // A message from this worker has arrived. Runs in the simulation kernel.
  void arrived(const Message& message);
  void keep(Message&& message) { early_.push_back(std::move(message)); }
  // Forgets everything.
  void clear();
  // From now on the worker belongs to the group of this view; null where no node may fail. If the job waits
  // for lost workers, there is only one group.
  void join(const SharedView& view);
  // Waits for a newer group.
  [[noreturn]] void await_group();
  NodeId node() const { return node_; }
  // The number of the newest known view; -1: none.
  std::int64_t view() const { return newest_ ? newest_->number : -1; }
  // The message that the worker waits for now; none: it does not wait.
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
  // The current wait, for the record.
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
  Heard heard_;                  // the last message for other_
  std::int64_t delivered_ = -1;  // the event of the last arrival of an own message
  bool computes_ = false;
  double idle_since_ = 0;
};

}  // namespace psim
