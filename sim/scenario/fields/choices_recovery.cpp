// The choices of [recovery] and [replication].
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/recovery.hpp"

namespace psim {

template <>
std::vector<Choice> choices<DetectorKind>() {
  return {{"timeout", "when the scheduler has not heard from the node for `timeout`"},
          {"phi-accrual",
           "when the node's silence is too unlikely, given the gaps between its last heartbeats (Hayashibara "
           "et al., SRDS 2004)"}};
}

template <>
std::vector<Choice> choices<LostWorkers>() {
  return {
      {"wait",
       "the other workers wait for it, if the consistency model makes them wait (MXNet's dist_sync); without "
       "servers they wait for ever after a crash, because the worker has lost its part of the training"},
      {"remove", "it does not take part until the scheduler hears from it again"},
      {"restart",
       "all workers wait until it is back, and continue from the last snapshot, or from the beginning if "
       "there is no snapshot (an all-reduce job that is started again)"}};
}

template <>
std::vector<Choice> choices<LostData>() {
  return {{"drop",
           "no worker trains on them; with an iid partition they are missing from the current epoch only"},
          {"reassign", "the other workers share them until the worker is back"}};
}

template <>
std::vector<Choice> choices<DataFrom>() {
  return {{"local", "none: the worker has the samples at once, without a transfer"},
          {"database", "the node `database`, which holds the training set, sends the samples", "storage"},
          {"workers",
           "the workers that held the samples before send them; a worker that leaves sends its samples, too; "
           "the node `database` sends samples that no worker holds"}};
}

template <>
std::vector<Choice> choices<LostServers>() {
  return {{"wait", "workers cannot pull these shards until the server is back"},
          {"neighbour",
           "the next server takes these shards over, with the weights of the last snapshot or the initial "
           "weights"}};
}

template <>
std::vector<Choice> choices<Rebalance>() {
  return {{"none", "no shards, unless other servers are lost"},
          {"placement", "the shards that the placement gives the server"},
          {"load",
           "the shards with the highest load, until the server has its share of the load; a shard larger "
           "than this share is cut (Li et al., OSDI 2014, section 4.5)"}};
}

template <>
std::vector<Choice> choices<HandOver>() {
  return {{"two-phase",
           "the owner serves the shard while it is copied; then the shard moves, and the owner sends only "
           "the changes since the copy (Li et al., OSDI 2014, section 4.5)"},
          {"stop-and-copy", "the shard moves at once, and workers wait until it is copied"}};
}

template <>
std::vector<Choice> choices<Semantics>() {
  return {{"exactly-once", "ignores the push, which it knows by its number"},
          {"at-least-once", "applies the push again"}};
}

template <>
std::vector<Choice> choices<ReplicateWhen>() {
  return {{"after-aggregation", "the sum of gradients of each update (Li et al., OSDI 2014, section 4.4)"},
          {"every-push", "each push as it arrives"}};
}

template <>
std::vector<Choice> choices<ReplicationLayout>() {
  return {{"primary", "the owner sends to each replica"},
          {"chain",
           "the owner sends to the first replica, and each replica to the next (van Renesse and Schneider, "
           "OSDI 2004)"}};
}

}  // namespace psim
