// Whose each link is: a node's own, of the nodes of a host, or nobody's.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/fault_book.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {

class LinkOwners {
 public:
  // `faults`: must outlive it.
  LinkOwners(const RunRecord& record, const Traffic& traffic, const FaultBook& faults);

  // Rising; none: nobody's.
  const std::vector<std::uint32_t>& of(std::uint32_t link) const { return owners_[link]; }
  // The share of its bandwidth that faults left for most of a time.
  double left(std::uint32_t link, double from, double to) const;

 private:
  const FaultBook& faults_;
  std::vector<std::vector<std::uint32_t>> owners_;  // by link
};

}  // namespace psim::analysis
