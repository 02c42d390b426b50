// The links that a message crosses: their owners, and the link that limited the message.
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
  // `uses`: for every link that carried anything.
  Bottlenecks(const Facts& facts, const FaultBook& faults, const LinkOwners& owners, const Traffic& traffic,
              const std::vector<LinkUse>& uses);

  enum class Owner : std::uint8_t { worker, server, scheduler, nobody };  // nobody: nodes share it
  struct Bottleneck {
    const Link* link;
    Owner owner;
    std::uint32_t node;  // the owner of the link; without an owner: a node whose message crosses it
    double by_window;    // seconds that the window added to the time on the links
    bool is_even;        // the link is as wide as all links of its kind
  };
  // The narrowest link of the message's way, with the bandwidth that faults left. Among equally narrow links:
  // the link that was full the longest. None: no links are known.
  std::optional<Bottleneck> of(const Transfer& message) const;
  // The node whose link has the largest latency of the way; the sender, if that link has no owner.
  std::uint32_t farthest(const Transfer& message) const;
  // For the own link of each node, with the bandwidth that faults left: 1 / bandwidth, and the seconds to
  // carry all its bytes at that bandwidth.
  struct Burdens {
    std::map<std::uint32_t, double> narrowness, seconds;
  };
  Burdens burdens(Owner owner) const;

 private:
  Owner owner_of(std::uint32_t link) const;
  Owner role_of(std::uint32_t node) const;
  // The single owner; none: no owner, or several.
  std::optional<std::uint32_t> owning(std::uint32_t link) const;
  void find_main_users(const Traffic& traffic);

  const Facts& facts_;
  const FaultBook& faults_;
  const LinkOwners& owners_;
  const Lone& lone_;
  std::vector<double> bytes_;                                 // by link
  std::vector<std::vector<std::pair<double, double>>> full_;  // by link: from when to when it was full
  std::map<std::uint32_t, std::uint32_t> main_user_;          // of the links of hosts
  std::map<Owner, double> widest_;                            // bytes per second
};

}  // namespace psim::analysis
