// What can be chosen where nodes fail.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/recovery.hpp"

namespace psim {

template <>
std::vector<Choice> choices<DetectorKind>() {
  return {{"timeout", "when the scheduler has not heard from it for `timeout`"},
          {"phi-accrual",
           "when its silence is too unlikely, given the gaps between its last heartbeats (Hayashibara et "
           "al., SRDS 2004)"}};
}

template <>
std::vector<Choice> choices<LostWorkers>() {
  return {{"wait", "the others wait for it, where the consistency model says so (MXNet's dist_sync)"},
          {"remove", "it no longer takes part, until the scheduler hears from it again"},
          {"restart",
           "all wait until it is back, and go on from the last snapshot, or from the beginning without one "
           "(a job of all-reduce that is started again)"}};
}

template <>
std::vector<Choice> choices<LostData>() {
  return {{"drop", "no worker computes them; iid samples are left out of the current epoch only"},
          {"reassign", "the other workers share them, until it is back"}};
}

template <>
std::vector<Choice> choices<DataFrom>() {
  return {{"local", "they are there at once, for nothing"},
          {"database", "the node `database`, which holds the training set, sends them", "storage"},
          {"workers",
           "the workers that held them until then send them, also one that leaves; the node `database` sends "
           "what no worker holds"}};
}

template <>
std::vector<Choice> choices<LostServers>() {
  return {
      {"wait", "they are not served until it is back"},
      {"neighbour", "the next server takes them over, from the last snapshot or with their initial weights"}};
}

template <>
std::vector<Choice> choices<Rebalance>() {
  return {{"none", "nothing, until other servers go"},
          {"placement", "the shards that the placement gives it"},
          {"load",
           "the shards with the highest load, until it has its share; a shard that alone is more than that "
           "is cut (Li et al., OSDI 2014, section 4.5)"}};
}

template <>
std::vector<Choice> choices<HandOver>() {
  return {{"two-phase",
           "its owner goes on serving while it is copied; then it moves, and only the changes since then are "
           "copied (Li et al., OSDI 2014, section 4.5)"},
          {"stop-and-copy", "it moves at once, and workers wait until it is copied"}};
}

template <>
std::vector<Choice> choices<Semantics>() {
  return {{"exactly-once", "ignores it: each worker's pushes are numbered"},
          {"at-least-once", "applies it again"}};
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
