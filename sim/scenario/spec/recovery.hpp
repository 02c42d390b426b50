// The fields of a scenario about the detection and handling of failures.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/protocol/replication_spec.hpp"
#include "sim/protocol/scheduler/failure_detector.hpp"
#include "sim/protocol/scheduler/rebalance.hpp"
#include "sim/scenario/spec/node_life.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

enum class Semantics : std::uint8_t { exactly_once, at_least_once };
enum class LostWorkers : std::uint8_t { wait, remove, restart };
enum class LostData : std::uint8_t { drop, reassign };
enum class DataFrom : std::uint8_t { local, database, workers };
enum class LostServers : std::uint8_t { wait, neighbour };
enum class HandOver : std::uint8_t { two_phase, stop_and_copy };

struct RecoverySpec {
  bool enabled = false;
  DetectorKind detector = DetectorKind::timeout;
  Seconds heartbeat{0.5};
  Seconds timeout{2};
  double threshold = 8;
  LostWorkers workers = LostWorkers::remove;
  LostData data = LostData::drop;
  DataFrom data_from = DataFrom::local;
  LostServers servers = LostServers::neighbour;
  Rebalance rebalance = Rebalance::placement;
  HandOver hand_over = HandOver::two_phase;
  Semantics semantics = Semantics::exactly_once;
  Seconds retry{1};
  double backoff = 2;
  Seconds longest_retry{30};
  std::int64_t retry_limit = 0;
  SlowSpec slow;
  Seconds patience{120};  // time without progress after which the run ends
};

struct SnapshotSpec {
  std::optional<Period> every;
  BytesPerSecond bandwidth{500e6};
};

}  // namespace psim
