// What goes wrong in a run, when, and with whom: [[fault]].
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/mutant.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

enum class FaultKind : std::uint8_t {
  crash,      // a node is gone with all that it knew
  restart,    // ... and is back
  leave,      // a node goes in good order
  join,       // ... and comes back
  slow,       // a node computes more slowly, or not at all
  link_down,  // nothing comes through to a node or from it
  degrade,    // a node's link has less bandwidth
  partition,  // nothing comes through between two sets of nodes
  heal,       // all partitions are over
  drop,       // messages are lost
  duplicate,  // ... come twice
  delay,      // ... come later
  reorder,    // ... come later by chance, so that one overtakes another
  disk_loss,  // what the storage has written is gone
};

// Whether a crash leaves what the storage had written.
enum class Disk { kept, lost };

struct FaultSpec {
  FaultKind kind = FaultKind::crash;
  std::vector<std::string> nodes;                 // "server 1", "workers", "all"
  std::vector<std::vector<std::string>> between;  // two sides; "rest" is all who are not on the other
  std::vector<std::string> messages;              // kinds, by name; empty: all
  // When: one of these.
  std::optional<Seconds> at;           // `every` repeats it
  std::optional<Seconds> from, until;  // likewise
  std::optional<Seconds> mtbf;         // mean of the exponential times between two failures of a node
  std::string when;                    // a condition (fault_condition.hpp)
  std::optional<Seconds> every;
  std::optional<Seconds> lasts;          // what began by `at`, `mtbf` or `when`
  std::optional<Seconds> restart_after;  // crash
  Disk disk = Disk::kept;                // crash
  double probability = 1;                // of each message
  std::optional<double> factor;          // slow: of the speed; degrade: of the bandwidth
  std::optional<Seconds> delay;          // delay: added; reorder: at most

  bool given_by_window() const { return from || until; }
};

// Whether a node or a message may be lost by it, come twice or out of order, or be taken for lost: a node
// that only computes more slowly, and a link with less bandwidth, deliver everything that they would have.
inline bool may_lose(const FaultSpec& fault) {
  const bool only_slows = fault.kind == FaultKind::slow || fault.kind == FaultKind::degrade;
  return !only_slows || !(fault.factor.value_or(0) > 0) || mutant("every-fault-loses");
}

// The kinds that have an end as well as a beginning.
constexpr bool is_window(FaultKind kind) {
  switch (kind) {
    case FaultKind::slow:
    case FaultKind::link_down:
    case FaultKind::degrade:
    case FaultKind::partition:
    case FaultKind::drop:
    case FaultKind::duplicate:
    case FaultKind::delay:
    case FaultKind::reorder: return true;
    default: return false;
  }
}
// The kinds that concern messages one by one.
constexpr bool is_about_messages(FaultKind kind) {
  return kind == FaultKind::drop || kind == FaultKind::duplicate || kind == FaultKind::delay ||
         kind == FaultKind::reorder;
}

struct ClusterSpec;

// The nodes that `names` stand for, in order, each once. Names must be known (unknown_node).
std::vector<std::uint32_t> fault_nodes(const ClusterSpec& cluster, const std::vector<std::string>& names);
// The two sides of `between`.
std::array<std::vector<std::uint32_t>, 2> fault_sides(const ClusterSpec& cluster,
                                                      const std::vector<std::vector<std::string>>& between);
// Whether `name` is one of the words for several nodes.
bool names_several_nodes(std::string_view name);

}  // namespace psim
