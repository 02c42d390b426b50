// The faults of a scenario: [[fault]].
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/spec/fault_kinds.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

// Whether the snapshots on the storage's disk survive a crash.
enum class Disk { kept, lost };

struct FaultSpec {
  FaultKind kind;
  std::vector<std::string> nodes;  // "server 1", "workers", "all"
  std::vector<std::vector<std::string>>
      between;                        // two sides; "rest": all nodes that are not on the other side
  std::vector<std::string> messages;  // kinds, by name; empty: all
  // The time: one of these fields.
  std::optional<Seconds> at;           // `every` repeats it
  std::optional<Seconds> from, until;  // `every` repeats them
  std::optional<Seconds> mtbf;         // mean of the exponential times between two failures of a node
  std::string when;                    // a condition (fault_condition.hpp)
  std::optional<Seconds> every;
  std::optional<Seconds> lasts;          // length of a fault with `at`, `mtbf` or `when`
  std::optional<Seconds> restart_after;  // crash
  Disk disk = Disk::kept;                // crash
  double probability = 1;                // of each message
  std::optional<double> factor;          // slow: of the speed; degrade: of the bandwidth
  std::optional<Seconds> delay;          // delay: added; reorder: at most

  bool given_by_window() const { return from || until; }
};

// Whether the fault may lose a node or a message, repeat or reorder messages, or make a node seem lost.
bool may_lose(const FaultSpec& fault);
// The kinds that affect single messages.
inline bool is_about_messages(FaultKind kind) { return kind->on == FaultOn::messages; }

struct ClusterSpec;

// The nodes that `names` mean, in order, each once. All names must be known (unknown_node).
std::vector<std::uint32_t> fault_nodes(const ClusterSpec& cluster, const std::vector<std::string>& names);
// The two sides of `between`.
std::array<std::vector<std::uint32_t>, 2> fault_sides(const ClusterSpec& cluster,
                                                      const std::vector<std::vector<std::string>>& between);
// Whether `name` is a word for several nodes.
bool names_several_nodes(std::string_view name);

}  // namespace psim
