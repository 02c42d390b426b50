// A client's requests that may get lost. The client repeats each of them until it is answered, after a time
// that grows (exponential back-off), and sends it to the shard's new owner if there is one. It keeps pushes
// longer, until a server confirms that they survive the loss of that server. Pure: dates come from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

struct RetrySpec {
  double timeout = 1;      // seconds from a request to its first repetition
  double backoff = 2;      // factor by which each further wait is longer
  double longest = 30;     // seconds: the longest wait
  std::int64_t limit = 0;  // repetitions of one request before the client gives up; 0: no limit
};

// A request that is due. skipped: nothing can be lost. under_way: the request or its answer is on its way.
enum class Due : std::uint8_t { repeated, skipped, under_way };

// The waits of one request between its repetitions. They do not grow while the request is under way: after a
// loss on a slow link, the first repetition comes as soon as elsewhere.
class Backoff {
 public:
  explicit Backoff(RetrySpec spec) : spec_(spec) {}
  // The next wait, in seconds, after the last one ended so.
  double next(Due last = Due::repeated);
  // Whether the limit allows no further repetition. To be asked before each repetition.
  bool gives_up();

 private:
  RetrySpec spec_;
  double wait_ = 0, waited_ = 0;
  std::int64_t repeated_ = 0;
};

class RetryQueue {
 public:
  explicit RetryQueue(RetrySpec spec) : spec_(spec) {}

  // `request`, a pull or a push, was sent at `now`. A pull replaces an older one of its shard.
  void sent(const Message& request, double now);
  // A server has push `number` of `shard`. The client does not send it again as long as that server is alive.
  void accepted(std::uint32_t shard, std::int64_t number);
  // The shard has the client's first `applied` pushes for good: in updates that no single crash undoes.
  void committed(std::uint32_t shard, std::int64_t applied);
  void answered(std::uint32_t shard);  // its pull

  // When the next repetition is due.
  std::optional<double> next() const;
  // The requests that are due at `now` and, as `how` says, repeated.
  std::vector<Message> due(double now, const std::function<Due(const Message&)>& how);
  // All requests of a shard with a new owner, oldest first, to be sent to that owner at `now`.
  std::vector<Message> again(std::uint32_t shard, NodeId owner, std::uint32_t epoch, double now);
  // `shard` keeps its first `at` values, and `upper` gets the others. Each request is cut in the same way.
  void cut(std::uint32_t shard, std::uint32_t upper, std::size_t at);
  // The number of the oldest push of a shard that the client still keeps.
  std::optional<std::int64_t> oldest(std::uint32_t shard) const;

  // Whether the client has repeated a request as often as the limit allows.
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
