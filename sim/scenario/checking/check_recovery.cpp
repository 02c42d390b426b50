// Failures and what helps against them: what cannot be had together.
#include <fmt/format.h>

#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

void Checker::check_recovery() {
  if (!s_.may_fail()) return;
  // The field that makes this a run in which nodes may fail.
  const std::string cause = s_.replication.copies > 0 ? "replication.copies"
                            : s_.snapshot.every       ? "snapshot.every"
                                                      : "recovery.enabled";
  const auto refuse = [&](const std::string& field, const std::string& what, const std::string& help = {}) {
    add({field, cause}, what, "this scenario has failures, or something against them", help);
  };
  if (!s_.architecture.has_servers())
    return refuse("architecture.kind", "failures are simulated with parameter servers only");
  const ConsistencyRow& row = *s_.consistency.model;
  // Also of all workers: one that goes leaves the groups of some servers complete and those of others not.
  const bool is_refused = row.group == Group::k && row.gate == Gate::own;
  if (is_refused && s_.cluster.servers > 1)
    refuse("consistency.model",
           fmt::format("{} with several servers needs a first server that never fails",
                       name_of(s_.consistency.model)),
           "use one server, or another model");
  else if (is_refused && s_.messages.unit == MessageUnit::array)
    refuse("consistency.model",
           fmt::format("{} with several arrays needs a first one that never fails",
                       name_of(s_.consistency.model)),
           "unit = \"server\" in [messages], or another model");
  if (s_.training.update == UpdateAt::worker)
    refuse("training.update", "workers that update must hear of every update", "update = \"server\"");
  if (s_.training.work == WorkPolicy::stealing)
    refuse("training.work", "work that is given away must not get lost", "work = \"proportional\"");
  if (s_.training.work == WorkPolicy::dynamic)
    refuse("training.work", "a scheduler that shares out work must hear every worker",
           "work = \"proportional\"");
  if (s_.cluster.delivery.source == Delivery::database)
    refuse("data.delivery", "the database sends every batch once", "delivery = \"local\"");
  if (s_.cluster.inference.given)
    refuse("inference", "inference nodes do not follow shards that move", "remove [inference]");
  for (const FilterSpec& filter : s_.filters) {
    if (filter.stage() == FilterStage::keys)
      refuse("filter", "key caching needs a server that remembers",
             fmt::format("remove the filter {}", name_of(filter.kind)));
  }
  if (s_.replication.copies >= s_.cluster.servers && s_.replication.copies > 0)
    add({"replication.copies", "cluster.servers"},
        fmt::format("{} of each shard beside its owner", counted(s_.replication.copies, "copy")),
        there_are(s_.cluster.servers, "server"), "every copy is on a server of its own");
  if (s_.recovery.detector == DetectorKind::timeout &&
      s_.recovery.timeout.value <= s_.recovery.heartbeat.value)
    add({"recovery.timeout", "recovery.heartbeat"}, "a node would be suspected between two of its heartbeats",
        "the timeout is not longer", "the timeout should be several heartbeats");
}

}  // namespace psim
