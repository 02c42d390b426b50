// The step of work stealing (sim/protocol/stealing): whoever is through asks the others for samples. A worker
// that is asked stops computing for as long as it takes to give some, and computes what others give it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sim/protocol/stealing.hpp"
#include "sim/roles/step.hpp"

namespace psim {

class SharedStep final : public Step {
 public:
  explicit SharedStep(StepContext& context);

  const ShardIds& needs() const override { return step_.kv.all_shards(); }
  bool compute() override;
  // This worker's own samples are computed: pushes their gradient and tells the others.
  Timestamp push() override;
  void on_arrival(const Message& message) override;
  // Computes what another worker sends; when nobody has anything left, pushes the gradient of all of it.
  void on_peer(const Message& message) override;

 private:
  // Gives pieces to those who have asked, when `left` of this worker's samples are still to be computed, the
  // first of them perhaps begun. Returns how many are left then.
  double give(double left);
  void compute_piece(NodeId from, const Piece& piece);
  void tell(std::uint32_t worker);
  void push_if_over();
  Timestamp push(Batch samples, std::int64_t count);
  std::uint64_t bytes_of(std::span<const std::uint32_t> samples, std::int64_t count) const;
  std::uint32_t index_of(NodeId worker) const { return worker - step_.job.plan.first_worker(); }

  StepContext& step_;
  Stealing protocol_;
  Batch batch_;                        // the clock's own samples; none of a phantom model
  std::shared_ptr<Assembly> weights_;  // for all of the clock's samples
  double flops_per_sample_ = 0;        // here
  Batch stolen_;                       // computed for others in this clock
  std::int64_t stolen_count_ = 0;      // of them; of a phantom model too
};

}  // namespace psim
