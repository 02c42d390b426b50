// Checks for contradictory numbers in recovery and replication.
#include <fmt/format.h>

#include "sim/scenario/checking/checks.hpp"

namespace psim {

void check_recovery(const Check& check) {
  const Scenario& s = check.s;
  if (s.replication.copies >= s.cluster.servers && s.replication.copies > 0 && s.architecture.has_servers())
    check.add({"replication.copies", "cluster.servers"},
              fmt::format("{} of each shard next to its owner", counted(s.replication.copies, "copy")),
              there_are(s.cluster.servers, "server"), "every copy needs a separate server");
  if (s.may_fail() && s.recovery.detector == DetectorKind::timeout &&
      s.recovery.timeout.value <= s.recovery.heartbeat.value)
    check.add({"recovery.timeout", "recovery.heartbeat"},
              "the scheduler would suspect a node between two of its heartbeats",
              "the timeout is not longer than a heartbeat",
              "the timeout should be the time of several heartbeats");
}

}  // namespace psim
