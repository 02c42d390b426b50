// What helps against failures: numbers that contradict each other.
#include <fmt/format.h>

#include "sim/scenario/checking/checks.hpp"

namespace psim {

void check_recovery(const Check& check) {
  const Scenario& s = check.s;
  if (s.replication.copies >= s.cluster.servers && s.replication.copies > 0 && s.architecture.has_servers())
    check.add({"replication.copies", "cluster.servers"},
              fmt::format("{} of each shard beside its owner", counted(s.replication.copies, "copy")),
              there_are(s.cluster.servers, "server"), "every copy is on a server of its own");
  if (s.may_fail() && s.recovery.detector == DetectorKind::timeout &&
      s.recovery.timeout.value <= s.recovery.heartbeat.value)
    check.add({"recovery.timeout", "recovery.heartbeat"},
              "a node would be suspected between two of its heartbeats", "the timeout is not longer",
              "the timeout should be several heartbeats");
}

}  // namespace psim
