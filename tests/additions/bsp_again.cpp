// The smallest consistency model: bsp again. A worker starts a clock when all have finished the one before,
// and an update needs the push of every worker.
#include "sim/protocol/consistency.hpp"

namespace {

struct BspAgain final : psim::PlainModel {
  explicit BspAgain(std::int64_t workers) : PlainModel(psim::Gate::staleness, workers) {}
  bool starts(const psim::StartView& at) const override { return at.clock <= at.clocks.slowest(); }
  bool makes_update(const Update& at) const override { return at.pushes >= at.members; }
};

const psim::Addition<psim::ConsistencyRow> bsp_again{psim::row_of<BspAgain>(
    "bsp-again", "when every worker has finished the clock before", "when every worker has pushed")};

}  // namespace
