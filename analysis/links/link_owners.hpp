// Whose each link is: a node's own, of the nodes of a host, or nobody's.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/fault_book.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {

class LinkOwners {
 public:
  LinkOwners(const RunRecord& record, const Traffic& traffic);

  // Rising; none: nobody's.
  const std::vector<std::uint32_t>& of(std::uint32_t link) const { return owners_[link]; }
  // What faults left of its bandwidth for most of a time, as a share.
  double left(const FaultBook& faults, std::uint32_t link, double from, double to) const;

 private:
  std::vector<std::vector<std::uint32_t>> owners_;  // by link
};

}  // namespace psim::analysis
