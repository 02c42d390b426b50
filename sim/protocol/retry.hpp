// A client's requests that may get lost: each is sent again until it is answered, after a time that grows
// (exponential back-off), and to the shard's new owner when there is one. Pushes are kept beyond that, until
// a server says that losing it would not lose them. Pure: dates come from outside.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

struct RetrySpec {
  double timeout = 1;      // seconds from a request to its first repetition
  double backoff = 2;      // each further wait is so many times as long
  double longest = 30;     // seconds: but no wait is longer
  std::int64_t limit = 0;  // repetitions of one request before the client gives up; 0: never
};

// How long a request waits for its answer, time after time.
class Backoff {
 public:
  explicit Backoff(RetrySpec spec) : spec_(spec) {}
  // The next wait, in seconds.
  double next();
  // All repetitions are used up that the limit allows. To be asked before each of them.
  bool gives_up();

 private:
  RetrySpec spec_;
  double wait_ = 0;
  std::int64_t repeated_ = 0;
};

class RetryQueue {
 public:
  explicit RetryQueue(RetrySpec spec) : spec_(spec) {}

  // `request`, a pull or a push, was sent at `now`. A pull takes the place of an older one of its shard.
  void sent(const Message& request, double now);
  // A server has push `number` of `shard`: it is not sent again, as long as the server is there.
  void accepted(std::uint32_t shard, std::int64_t number);
  // The shard has `applied` of the client's pushes for good: in updates that no single crash undoes.
  void committed(std::uint32_t shard, std::int64_t applied);
  void answered(std::uint32_t shard);  // its pull

  // When the next repetition is due.
  std::optional<double> next() const;
  // The requests that are due, to be sent again at `now`.
  std::vector<Message> due(double now);
  // All requests of a shard that has a new owner, oldest first, to be sent to it at `now`.
  std::vector<Message> again(std::uint32_t shard, NodeId owner, std::uint32_t epoch, double now);
  // The number of the oldest push of a shard that is kept.
  std::optional<std::int64_t> oldest(std::uint32_t shard) const;

  // A request has been repeated as often as the limit allows.
  bool gave_up() const { return gave_up_; }

 private:
  struct Request {
    Message message;
    Backoff backoff;
    double due = 0;
    bool waits = true;  // for an answer
  };
  Request sent_at(Message message, double now) const;

  RetrySpec spec_;
  std::map<std::pair<std::uint32_t, std::int64_t>, Request> pushes_;  // by shard and number
  std::map<std::uint32_t, Request> pulls_;                            // by shard
  bool gave_up_ = false;
};

}  // namespace psim
