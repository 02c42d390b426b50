// The faults of a scenario: [[fault]].
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/base/random.hpp"
#include "model/base/table.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

// Kinds of faults: one row per kind (faults.cpp).
struct FaultSpec;

// Carries out faults of nodes. The agenda calls it, an actor never does. Each function returns whether it
// changed anything.
class FaultTarget {
 public:
  virtual ~FaultTarget() = default;
  virtual bool crash(std::uint32_t node, bool disk_lost) = 0;
  virtual bool restart(std::uint32_t node) = 0;
  virtual bool leave(std::uint32_t node) = 0;
  virtual bool join(std::uint32_t node) = 0;
  virtual void set_speed(std::uint32_t node,
                         double factor) = 0;  // factor of the node's own speed; 0: frozen, 1: as before
  // Share of the bandwidth of the node's own links that faults leave.
  virtual void set_bandwidth(std::uint32_t node, double factor) = 0;
  virtual bool lose_disk(std::uint32_t node) = 0;
  virtual bool corrupt(std::uint32_t worker, const FaultSpec& fault, bool begins) = 0;
};

// The fate of a message that is sent now.
struct MessageFate {
  bool dropped = false;  // lost when it arrives
  int copies = 0;        // additional copies
  double delay = 0;      // seconds, in addition to its time in the network
};

enum class FaultOn : std::uint8_t { nodes, sides, messages, everything };

struct FaultKindRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  FaultOn on = FaultOn::nodes;    // what it affects
  bool window = false;            // it has a beginning and an end
  // Acts on each of the fault's nodes when the fault begins, and when it ends if it has an end. Returns
  // whether it changed anything.
  bool (*begin)(FaultTarget& target, std::uint32_t node, const FaultSpec& spec) = nullptr;
  bool (*end)(FaultTarget& target, std::uint32_t node, const FaultSpec& spec) = nullptr;
  // During the fault: nodes or their links have `factor` of their speed or bandwidth; no message arrives;
  // each message is affected with probability `probability`.
  bool slows = false, degrades = false, cuts = false;
  void (*meet)(MessageFate& fate, const FaultSpec& spec, Stream& stream) = nullptr;
  bool drops = false;        // messages that it affects never arrive
  bool takes_delay = false;  // needs the field `delay`
  // With a factor above 0 every node stays, and every message arrives once and in order.
  bool loses_nothing = false;
  // Its effect on nodes: they crash until `restart_after`, restart, leave in an orderly way, or join again.
  bool crashes = false, restarts = false, leaves = false, joins = false;
  bool loses_disk = false;
  bool corrupts = false;                           // the pushes of workers, as the field `how` says
  std::string_view undoes = {};                    // the earlier kind that it ends
  std::string_view in_vain = "it met no message";  // why it had no effect, if it had none
  std::string_view whom = "nodes", fields = {}, over = "at once";  // texts for help
  double fuzz = 1;                                                 // how often the fuzzer draws it, beside 1

  bool takes_factor() const { return slows || degrades; }
  // The name of a missing function.
  std::string_view lacks() const {
    const bool acts = begin != nullptr || meet != nullptr || takes_factor() || cuts || !undoes.empty();
    return acts ? "" : on == FaultOn::messages ? "meet" : "begin";
  }
};
template <>
std::deque<FaultKindRow> built_in_rows();
using FaultKind = Chosen<FaultKindRow>;

// Whether the snapshots on the storage's disk survive a crash.
enum class Disk { kept, lost };

// The values that a worker pushes instead of those that it has computed.
enum class Corruption : std::uint8_t { sign, noise, scale, constant, copy };

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
  std::string when;                    // a condition (FaultCondition)
  std::optional<Seconds> every;
  std::optional<Seconds> lasts;          // length of a fault with `at`, `mtbf` or `when`
  std::optional<Seconds> restart_after;  // crash
  Disk disk = Disk::kept;                // crash
  double probability = 1;                // of each message
  std::optional<double> factor;          // slow: of the speed; degrade: of the bandwidth; corrupt: see `how`
  std::optional<Seconds> delay;          // delay: added; reorder: at most
  Corruption how = Corruption::sign;     // corrupt
  std::string of;                        // corrupt by copy: the other worker
  bool is_off = false;                   // it never happens; no field of a scenario

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

// Conditions of faults: "loss < 0.5", "clock of worker 3 = 100", "server 1 crashed".
struct FaultCondition {
  enum class Quantity : std::uint8_t { loss, accuracy, updates, clock, crashed };
  Quantity quantity = Quantity::updates;
  bool below = false;   // true: the quantity falls to the bound; false: it rises to the bound
  bool strict = false;  // the bound itself does not satisfy the condition
  double bound = 0;
  std::string node = {};  // clock, crashed: the node

  bool holds(double value) const {
    if (below) return strict ? value < bound : value <= bound;
    return strict ? value > bound : value >= bound;
  }
};

// An error in a condition: its message, and its bytes in the text.
struct ConditionError {
  std::size_t begin = 0, length = 0;
  std::string label;
};

// "=" holds when a count reaches the bound, so it means ">=".
std::variant<FaultCondition, ConditionError> parse_condition(std::string_view text);

inline constexpr std::string_view condition_forms =
    "\"loss < 0.5\", \"accuracy > 0.9\", \"updates >= 200\", \"clock of worker 3 = 100\", \"server 1 "
    "crashed\"";

}  // namespace psim
