// The step of work stealing (sim/protocol/stealing): whoever is through asks the others for samples. A worker
// that is asked, or gets some, stops computing for as long as it takes to give some, or to compute them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/nodes/step.hpp"
#include "sim/protocol/stealing.hpp"

namespace psim {

class SharedStep final : public Step {
 public:
  explicit SharedStep(StepContext& context);

  const ShardIds& needs() const override { return step_.kv.all_shards(); }
  // This worker's samples, but for those that others compute, of which it waits for the gradients.
  bool compute() override;
  Timestamp push() override;
  void leave(bool completes) override;
  void on_arrival(const Message& message) override;
  void on_peer(const Message& message) override;

 private:
  // The mean gradient of some samples.
  struct PartialGradient {
    std::int64_t samples = 0;
    std::shared_ptr<const Values> gradient = {};  // null: of a phantom model
  };
  void compute_own();
  // Gives pieces to those who have asked, when `left` of this worker's samples are still to be computed, the
  // first of them perhaps begun. Returns how many are left then.
  double give(double left);
  void send_piece(const Stealing::Piece& piece);
  void await_pieces();
  void take_back(std::optional<std::uint32_t> helper);
  void compute_taken_back();
  void tell_all(bool leaves);
  void tell(std::uint32_t worker, std::int64_t clock, bool leaves);
  void on_piece(NodeId from, const Piece& piece);
  void on_gradient(NodeId from, const PieceGradient& gradient);
  void return_pieces(std::uint32_t owner);
  void spend(std::int64_t clock, std::int64_t samples);
  std::shared_ptr<Values> gradient_of(Batch samples, const std::shared_ptr<Assembly>& weights,
                                      const std::shared_ptr<const BatchKeys>& keys) const;
  std::uint64_t bytes_of(std::span<const std::uint32_t> samples, std::int64_t count) const;
  std::uint64_t bytes_of_gradient(const Batch& samples, bool sparse) const;
  bool is_helpful(const Piece& piece) const;
  std::uint32_t index_of(NodeId worker) const { return worker - step_.job.plan.first_worker(); }

  // Pieces of another worker that are computed here and not returned yet.
  struct Stolen {
    Batch samples;  // none of a phantom model
    std::int64_t count = 0;
    std::shared_ptr<Assembly> weights;  // that came with them; null: this worker's own
    std::shared_ptr<const BatchKeys> keys;
  };

  StepContext& step_;
  Stealing protocol_;
  bool is_here_ = true;                    // it has not left since its last step
  Batch batch_;                            // the clock's samples; none of a phantom model
  std::shared_ptr<Assembly> weights_;      // of the last step that has begun
  std::shared_ptr<const BatchKeys> keys_;  // sparse: of these keys
  double flops_per_sample_ = 0;            // here
  std::vector<Range> taken_back_;          // of the batch, still to be computed
  std::vector<Range> computed_;            // of the batch, after they were taken back
  std::vector<PartialGradient> parts_;     // by others
  std::vector<Stolen> stolen_;             // by worker
};

}  // namespace psim
