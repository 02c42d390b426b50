// The owners of each link: one node, the nodes of a host, or none.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/fault_book.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {

class LinkOwners {
 public:
  // `faults` must outlive this object.
  LinkOwners(const RunRecord& record, const Traffic& traffic, const FaultBook& faults);

  // Nodes, ascending; empty: no owner.
  const std::vector<std::uint32_t>& of(std::uint32_t link) const { return owners_[link]; }
  // The share of the bandwidth that faults left for most of [from, to].
  double left(std::uint32_t link, double from, double to) const;

 private:
  const FaultBook& faults_;
  std::vector<std::vector<std::uint32_t>> owners_;  // by link
};

}  // namespace psim::analysis
