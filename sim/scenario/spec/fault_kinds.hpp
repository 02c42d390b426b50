// Kinds of faults: one row per kind (fault_kinds.cpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "model/random.hpp"
#include "model/table.hpp"

namespace psim {

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
};

// What happens to a message that is sent now.
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
  std::string_view undoes = {};                                    // the earlier kind that it ends
  std::string_view in_vain = "it met no message";                  // why it had no effect, if it had none
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

}  // namespace psim
