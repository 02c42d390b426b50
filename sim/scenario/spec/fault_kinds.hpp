// What can go wrong: one row a kind of fault (fault_kinds.cpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "model/random.hpp"
#include "model/table.hpp"

namespace psim {

struct FaultSpec;

// Who carries out what happens to nodes. Called from the agenda, never from an actor. The answers: whether it
// changed anything.
class FaultTarget {
 public:
  virtual ~FaultTarget() = default;
  virtual bool crash(std::uint32_t node, bool disk_lost) = 0;
  virtual bool restart(std::uint32_t node) = 0;
  virtual bool leave(std::uint32_t node) = 0;
  virtual bool join(std::uint32_t node) = 0;
  virtual void set_speed(std::uint32_t node, double factor) = 0;  // of its own; 0: frozen, 1: as before
  virtual bool lose_disk(std::uint32_t node) = 0;
};

// What will become of a message that is sent now.
struct MessageFate {
  bool dropped = false;  // lost when it arrives
  int copies = 0;        // more than the one
  double delay = 0;      // seconds, after its way through the network
};

enum class FaultOn : std::uint8_t { nodes, sides, messages, everything };

struct FaultKindRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  FaultOn on = FaultOn::nodes;    // what it happens to
  bool window = false;            // it has an end as well as a beginning
  // It acts on each of its nodes when it begins, and when it ends if it does. Returns whether it changed
  // anything.
  bool (*begin)(FaultTarget& target, std::uint32_t node, const FaultSpec& spec) = nullptr;
  bool (*end)(FaultTarget& target, std::uint32_t node, const FaultSpec& spec) = nullptr;
  // While it is in force: `factor` of the nodes' speed or of their links' bandwidth is left; nothing comes
  // through; something happens to each message by a chance of `probability`.
  bool slows = false, degrades = false, cuts = false;
  void (*meet)(MessageFate& fate, const FaultSpec& spec, Stream& stream) = nullptr;
  bool drops = false;        // messages that it meets never arrive
  bool takes_delay = false;  // needs the field `delay`
  // With a factor above 0 every node stays and every message arrives, once and in order.
  bool loses_nothing = false;
  // What it makes of nodes: they are gone until `restart_after`, back, gone in good order, there again.
  bool crashes = false, restarts = false, leaves = false, joins = false;
  bool loses_disk = false;
  std::string_view undoes = {};                    // the kind that must come before it, and that it ends
  std::string_view in_vain = "it met no message";  // why it changed nothing, if it did not
  std::string_view whom = "nodes", fields = {}, over = "at once";  // the same in words, for help
  double fuzz = 1;                                                 // how often the fuzzer draws it, beside 1

  bool takes_factor() const { return slows || degrades; }
  // A function that is missing.
  std::string_view lacks() const {
    const bool acts = begin != nullptr || meet != nullptr || takes_factor() || cuts || !undoes.empty();
    return acts ? "" : on == FaultOn::messages ? "meet" : "begin";
  }
};
template <>
std::deque<FaultKindRow> built_in_rows();
using FaultKind = Chosen<FaultKindRow>;

}  // namespace psim
