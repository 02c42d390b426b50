// The step of work stealing (sim/protocol/stealing): a worker that has finished asks the others for samples.
// A worker that receives a request or samples interrupts its computing: it gives samples away, or computes
// the received ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/nodes/worker/step.hpp"
#include "sim/protocol/stealing.hpp"

namespace psim {

class SharedStep final : public Step {
 public:
  explicit SharedStep(StepContext& context);

  const ShardIds& needs() const override { return step_.kv.all_shards(); }
  // Computes this worker's samples, except those that others compute. It waits for the gradients of these.
  bool compute() override;
  Timestamp push() override;
  void leave(bool completes) override;
  void on_arrival(const Message& message) override;
  void on_peer(const Message& message) override;

 private:
  // The mean gradient of some samples.
  struct PartialGradient {
    std::int64_t samples = 0;
    std::shared_ptr<const Values> gradient = {};  // null for a phantom model
  };
  void compute_own();
  // Gives pieces to the workers that have asked. `left` of this worker's samples are not computed yet; the
  // first of them may have begun. Returns the number that is left afterwards.
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

  // Pieces of another worker that this worker computes and has not returned yet.
  struct Stolen {
    Batch samples;  // empty for a phantom model
    std::int64_t count = 0;
    std::shared_ptr<Assembly> weights;  // weights that came with them; null: this worker's own
    std::shared_ptr<const BatchKeys> keys;
  };

  StepContext& step_;
  Stealing protocol_;
  bool is_here_ = true;                    // whether it has not left since its last step
  Batch batch_;                            // the clock's samples; empty for a phantom model
  std::shared_ptr<Assembly> weights_;      // of the last step that has begun
  std::shared_ptr<const BatchKeys> keys_;  // sparse: keys of the weights
  std::optional<OwnSteps> own_;            // where the worker runs the optimizer
  LocalCopy local_;
  double flops_per_sample_ = 0;         // on this worker
  std::vector<Range> taken_back_;       // ranges of the batch that were taken back, not computed yet
  std::vector<Range> computed_;         // ranges of the batch that were taken back and computed
  std::vector<PartialGradient> parts_;  // computed by others
  std::vector<Stolen> stolen_;          // by worker
};

}  // namespace psim
