// The messages between servers, and between servers and the storage.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/protocol/gradient_aggregation.hpp"
#include "sim/protocol/part.hpp"
#include "sim/protocol/worker_messages.hpp"

namespace psim {

struct ShardState;

// First shard to the others: these pushes made its update of version `version`, or it dropped a push that was
// too stale. The answer to a Decide may instead hold each worker's last decided push.
struct UpdateGroup {
  std::int64_t version = 0;
  std::vector<PushId> pushes = {};
  std::vector<PushId> dropped = {};
  std::vector<double> weights = {};  // of `pushes`; none: 1
  bool is_summary = false;           // `pushes` are each worker's last push, and their weights are not known

  std::uint64_t wire_bytes() const {
    return (pushes.size() + dropped.size()) * id_bytes + weights.size() * sizeof(double);
  }
  MessageFacts facts() const {
    return {.kind = MessageKind::group,
            .has_shard = true,
            .version = version,
            .values = static_cast<std::uint32_t>(weights.size()),
            .ids = static_cast<std::uint32_t>(pushes.size() + dropped.size())};
  }
};
// A server of another shard asks the first shard's server: which pushes made the update of version `version`?
// Where late pushes count: which pushes have been in updates so far?
struct Decide {
  std::int64_t version = 0;

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::decide, .has_shard = true, .version = version}; }
};

// A decision of a shard's primary, for its replicas.
struct LogEntry {
  std::int64_t number = 0;
  // An update's weighted sum of gradients.
  struct Sum {
    std::int64_t clock = 0, version = 0;
    Payload gradient = {};
    double rate_factor = 1;  // of stale pushes
    // With delay compensation: the mean of squared gradients after this update.
    std::shared_ptr<const Values> mean_square = {};
    // Where servers keep gradients: those of this update's workers.
    std::vector<KeptGradient> kept = {};
    std::uint64_t kept_bytes = 0;
    std::uint64_t bytes() const {
      return gradient.bytes + kept_bytes + (rate_factor == 1 ? 0 : sizeof rate_factor);
    }
  };
  std::optional<Sum> sum = {};
  // If every push is logged: the push that has arrived, and whether it completes the pending update. The
  // update takes all pending pushes except `left`.
  std::optional<Push> push = {};
  bool drops_push = false;  // an earlier decision drops the push at once
  bool updates = false;
  std::vector<PushId> left = {};
  std::vector<double> weights = {};  // of the pushes in the update; none: 1
  std::vector<PushId> pushes = {};   // the pushes in the sum, or the logged one
  std::vector<PushId> dropped = {};
  std::vector<PushId> skipped = {};  // pushes of a worker before this one will not come
  // Workers that resumed at the others' clock, with the clocks that they skipped.
  std::vector<PushId> skipped_clocks = {};
  // For delay compensation: workers that were sent these weights, or, if filters changed the weights, these
  // values.
  struct Shown {
    NodeId worker = 0;
    Payload filtered = {};
  };
  std::vector<Shown> shown = {};
  std::vector<bool> members = {};   // workers that take part from now on; empty: no change
  std::vector<double> memory = {};  // of the consistency policy, without its estimates

  std::size_t ids() const {
    return pushes.size() + dropped.size() + skipped.size() + skipped_clocks.size() + shown.size() +
           left.size();
  }
};
using SharedEntry = std::shared_ptr<const LogEntry>;
// Primary to replica, or replica to the next one.
struct Replicate {
  SharedEntry entry;

  std::uint64_t wire_bytes() const {
    std::uint64_t bytes =
        entry->ids() * id_bytes + (entry->weights.size() + entry->memory.size()) * sizeof(double);
    if (entry->sum) bytes += entry->sum->bytes();
    if (entry->push) bytes += entry->push->gradient.bytes;
    for (const LogEntry::Shown& shown : entry->shown) bytes += shown.filtered.bytes;
    return bytes;
  }
  MessageFacts facts() const {
    MessageFacts all{.kind = MessageKind::replicate,
                     .has_shard = true,
                     .entries = entry->number,
                     .ids = static_cast<std::uint32_t>(entry->ids())};
    const auto carries = [&all](const auto& what) {
      all.clock = what.clock;
      all.version = what.version;
      all.values = what.gradient.count();
      all.keys = count_of(what.gradient.keys);
    };
    if (entry->sum) carries(*entry->sum);
    if (entry->push) carries(*entry->push);
    return all;
  }
};
// Replica to primary: the replica has all entries below `entries`; none: it lacks even the state before them.
struct Replicated {
  std::optional<std::int64_t> entries;

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const {
    return {.kind = MessageKind::replicated, .has_shard = true, .entries = entries};
  }
};
// One owner to another, or to the storage: a shard, or the entries that the receiver lacks.
struct State {
  std::int64_t version = 0;
  std::uint32_t log_epoch = 0;  // of the log of this epoch's owner the state includes ...
  std::int64_t entries = -1;    // ... this number of entries; -1: the sender has nothing
  std::int64_t view = 0;        // the sender's view, where it matters
  std::shared_ptr<const ShardState> shard = {};
  std::shared_ptr<const Parameters> replica = {};             // a worker's copy, with its optimizer's state
  std::shared_ptr<const std::vector<SharedEntry>> rest = {};  // entries to add to the receiver's state
  std::uint64_t bytes = 0;
  std::uint32_t asked_in = 0;  // without servers, from the storage: the group of the worker that asked

  std::uint64_t wire_bytes() const { return bytes; }
  MessageFacts facts() const {
    return {.kind = MessageKind::state,
            .has_shard = true,
            .version = version,
            .view = view,
            .entries = from_zero(entries),
            .log_epoch = log_epoch};
  }
};
// A new owner asks the previous one, or the storage: send me the shard's state. The new owner has the first
// `entries` entries of the log of epoch `log_epoch`; -1: it has nothing. To a worker that runs the optimizer:
// send me your copy of the shard, if its version is above `entries`.
struct Restore {
  std::uint32_t log_epoch = 0;
  std::int64_t entries = -1;
  Part part = {};  // the values of the shard; its number and epoch identify them, so it takes no bytes

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const {
    return {.kind = MessageKind::restore,
            .has_shard = true,
            .entries = from_zero(entries),
            .log_epoch = log_epoch};
  }
};

}  // namespace psim
