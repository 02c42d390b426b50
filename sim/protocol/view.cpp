#include "sim/protocol/view.hpp"

namespace psim {

std::uint64_t View::bytes() const {
  std::uint64_t bytes = 8 + (workers.size() + 7) / 8 + 12 * cuts.size();
  for (const Owner& owner : owners)
    bytes += 8 + 4 * (owner.replicas.size() + owner.from.size() + (owner.next != 0 ? 1 : 0));
  return bytes;
}

}  // namespace psim
