// What a message goes through before it is sent, so that fewer bytes travel: the filters of parameter
// servers and the gradient compressors of the field, as rows of one table and as chains of them.
//
// A chain of filters stands for every sender, receiver, range and direction. Each filter has a stage, and
// stages come in this order: select values, quantise them, cache keys, compress bytes. Decisions:
// - The bytes are real: quantisers write their codes and read them back, and Snappy compresses the payload
//   as it stands. So the version of the Snappy library is part of a run's identity.
// - Error feedback is one residual per chain. A filter that has it adds what it lost of a value to the
//   residual, and the next push starts from gradient + residual. So what was sent and what is left are
//   together what was given, also through several filters. A filter without it loses for good.
// - Without error feedback, random-k and random-skip scale up what they send, so that its mean is right.
// - A dense message stays dense for the receiver: what a push left out is 0. What a pull left out is what
//   the receiver had, so significant and random-skip remember that, and a pull's first message sends
//   everything.
// - A pull says whose answer its worker took last. If that is not what the server sent last (it was lost or
//   late, another owner answered meanwhile, or the worker crashed), the server sends every value.
// - A message that holds every value of its range needs no positions, whatever filters it went through.
// - Key caching (Li et al., OSDI 2014, section 4.2). A receiver remembers the last list of keys that it took
//   from a sender, for each shard and block of features. A message with such a list has its signature. Where
//   nodes fail or messages get lost, the receiver may not have the list. The sender knows that from what it
//   knows anyway: a new owner of the shard has none; pushes are taken in order, each after the one before
//   it; a pull says whose answer came last, and an answer that its pull came. So the keys go again to a new
//   owner, after an answer that did not come, and with everything that is sent a second time. The paper
//   leaves this open. A receiver that does not know the signature takes the message for lost; the sender
//   repeats it, with its keys.
// - Filters whose bytes depend on the data do not work on phantom messages. Which values of a phantom are
//   the largest is not known, so keys behind top-k always count as new there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/values.hpp"
#include "sim/protocol/filter_rows.hpp"

namespace psim {

enum class FilterOn : std::uint8_t { push, pull, both };

// What a scenario says in one [[filter]].
struct FilterSpec {
  FilterKind kind;
  std::optional<FilterOn> on;
  Settings settings;                   // of the kind
  std::optional<bool> error_feedback;  // of pushes
  double flops_per_value = 0;          // work of the sender for each value that comes in

  FilterStage stage() const { return kind->stage; }
  // What loses something is for gradients unless the scenario says otherwise; the rest is for all messages.
  FilterOn direction() const {
    return on.value_or(stage() < FilterStage::keys ? FilterOn::push : FilterOn::both);
  }
  bool works_on(bool push) const {
    return direction() == FilterOn::both || (direction() == FilterOn::push) == push;
  }
  bool feeds_back() const { return error_feedback.value_or(kind->error_feedback == ErrorFeedback::on); }
};

// The filters of one direction, in the order of the scenario.
std::vector<FilterSpec> filters_on(std::span<const FilterSpec> filters, bool push);

// Rising positions within a range: which of its values a message holds. Null: all of them.
using SharedKeys = std::shared_ptr<const std::vector<std::uint32_t>>;

inline constexpr std::size_t signature_bytes = 8;  // of a list of keys

// Key caching: the list of a message's keys, as far as the message tells it.
struct KeyList {
  std::uint64_t signature = 0;     // 0: the receiver is to remember none
  std::uint64_t bytes_listed = 0;  // of a message that has only the signature: its bytes with the list
  bool is_listed() const { return bytes_listed == 0; }
};

// What both ends remember of a sender's lists of keys: the signatures of the last ones, as many as there are
// blocks of features, because each block has a list of its own.
class KeyMemory {
 public:
  explicit KeyMemory(std::int64_t most = 1) : most_(static_cast<std::size_t>(most)) {}
  bool has(std::uint64_t signature) const { return std::ranges::find(last_, signature) != last_.end(); }
  // It is the last one from now on.
  void note(std::uint64_t signature) {
    std::erase(last_, signature);
    if (last_.size() == most_) last_.erase(last_.begin());
    last_.push_back(signature);
  }
  void forget() { last_.clear(); }
  // The receiver's part: whether it can read a message with this list, which it then remembers.
  bool reads(const KeyList& list) {
    if (!list.is_listed() && !has(list.signature)) return false;
    if (list.signature != 0) note(list.signature);
    return true;
  }

 private:
  std::size_t most_;
  std::vector<std::uint64_t> last_;
};

// What the receiver will see, and what it costs.
struct Encoded {
  Slice values;
  SharedKeys keys;
  std::uint64_t bytes = 0;  // of keys and values on the network
  double flops = 0;         // of the sender
  KeyList list = {};
};

// The filters between a sender and a receiver, for one range and direction. It holds what both ends
// remember: what pushes lost, the keys that the receiver has, the values that it has.
class FilterChain {
 public:
  struct Options {
    std::vector<FilterSpec> filters = {};      // stages in rising order
    Precision precision = Precision::float32;  // a half one: what filters leave is rounded to it
    std::size_t count = 0;                     // values of the range
    std::uint64_t first_key = 0;               // of the range
    std::size_t key_bytes = 0;  // 8: every value travels with its key; 0: a whole range needs none
    std::uint64_t seed = 0;
    std::uint32_t sender = 0, receiver = 0;
    bool push = true;
    double scale = 1;            // of values that are rounded to half precision; see round_to
    bool repeats = false;        // a message may be lost, and be sent again
    std::int64_t key_lists = 1;  // that a receiver remembers
    std::shared_ptr<FilterBuffers> buffers = {};  // null: buffers of its own
  };
  explicit FilterChain(Options options);

  // Sends `values`, one for each of `keys`, or for the whole range. A dense message stays dense: what a push
  // left out is 0, and of a pull it is what the receiver had. A sparse push has the keys that are left; a
  // sparse pull has all. kkt needs the weights that belong to `values`, and l1.
  Encoded encode(const Slice& values, const SharedKeys& keys = {}, const Slice& weights = {}, double l1 = 0);

  // The next message answers pull `number` of a receiver that has the answer to its pull `has`, 0: none. If
  // that is not what was sent last, what the receiver holds is not known, and it is sent every value.
  void answer_to(std::int64_t number, std::int64_t has);
  // Another receiver, or one that lost its memory: it has no list of keys, or no values either.
  void forget_keys();
  void forget_receiver();

  // The range is cut: this chain keeps the first `at` values, and what it remembers of the others is the
  // new chain's, which has these options. Both send their next message as a whole, with its keys.
  std::unique_ptr<FilterChain> cut(std::size_t at, Options rest);

  // What pushes lost so far, of each value of the range; null without error feedback.
  const Values* residual() const { return residual_ ? &*residual_ : nullptr; }

  // A message that goes through no filter: nothing is copied.
  static Encoded plain(const Slice& values, const SharedKeys& keys, Precision precision,
                       std::size_t key_bytes);

 private:
  template <class Scalar>
  class Pass;

  Options options_;
  std::optional<Values> residual_;
  std::optional<Values> known_;  // pulls: what the receiver has ...
  std::vector<bool> is_known_;   // ... where it has anything
  std::int64_t answered_ = 0;    // pulls: the one that was answered last
  KeyMemory known_keys_;         // of the receiver
  std::uint64_t signature_ = 0;  // of the last list
  std::uint64_t messages_ = 0;
};

}  // namespace psim
