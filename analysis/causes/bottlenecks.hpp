// Whose the links are that messages cross, and which of them a message waited for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/causes/fault_book.hpp"
#include "analysis/links/link_owners.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {

class Bottlenecks {
 public:
  // `uses`: of all links that carried anything.
  Bottlenecks(const Facts& facts, const FaultBook& faults, const LinkOwners& owners, const Traffic& traffic,
              const std::vector<LinkUse>& uses);

  enum class Owner : std::uint8_t { worker, server, scheduler, nobody };  // nobody: nodes share it
  struct Bottleneck {
    const Link* link;
    Owner owner;
    std::uint32_t node;  // whose link it is; nobody's: a node that crosses it
    double by_window;    // seconds that the window held the message back, beyond what the links did
    bool is_even;        // it is as wide as all of its kind
  };
  // The narrowest link of its way, as faults left its bandwidth, and of several the one that was full the
  // longest. None: no links are known.
  std::optional<Bottleneck> of(const Transfer& message) const;
  // The node whose link has most of the way's latency; the sender, if it is nobody's.
  std::uint32_t farthest(const Transfer& message) const;
  // By node, of its own link as faults left it: one over the bandwidth, and the seconds that all it carried
  // takes at that.
  struct Burdens {
    std::map<std::uint32_t, double> narrowness, seconds;
  };
  Burdens burdens(Owner owner) const;

 private:
  Owner owner_of(std::uint32_t link) const;
  Owner role_of(std::uint32_t node) const;
  std::optional<std::uint32_t> owning(std::uint32_t link) const;  // the one node; none: no one, or several

  const Facts& facts_;
  const FaultBook& faults_;
  const LinkOwners& owners_;
  const Lone& lone_;
  std::vector<double> bytes_;                                 // by link
  std::vector<std::vector<std::pair<double, double>>> full_;  // by link: from when to when it was full
  std::map<Owner, double> widest_;                            // bytes per second
};

}  // namespace psim::analysis
