// Model parallelism: every worker holds some layers, a stage. A batch passes through the stages in
// micro-batches, forward and backward. Every stage updates its layers when all micro-batches have come back
// (sim/protocol/pipeline.hpp).
//
// The effect of a lost worker (recovery.workers):
// - wait: the others wait for it. Its data is gone, so they wait for ever.
// - restart: no stage works until all are there. Then all stages go back to the newest version of which the
//   storage has every stage's part, or to the first weights. They drop messages that were on their way. The
//   first stage decides whether a step ends with a snapshot, and the step's activations carry this decision
//   to the others. So the snapshots of all stages have the same versions. The disk may be lost when only some
//   stages have read it. Then all go back to the first weights. A stage that has done its steps leaves when
//   all have done theirs.
// - The pipeline cannot go on with fewer stages: no other worker has the layers of the lost one.
#pragma once

#include <memory>
#include <vector>

#include "sim/nodes/peers/peers.hpp"
#include "sim/protocol/pipeline.hpp"

namespace psim {

class Pipeline;

class StageWorker {
 public:
  StageWorker(JobContext& job, Pipeline& pipeline, std::uint32_t index, const Stage& stage,
              std::size_t inputs, const Values* weights);

  void run();
  // The worker has lost its data, and no other worker has it.
  void lose();
  Mailbox& mailbox() { return mailbox_; }
  const Mailbox& mailbox() const { return mailbox_; }
  const Replica& replica() const { return replica_; }
  std::int64_t samples() const { return samples_; }

 private:
  // The group of all stages. `goes_on`: not for the first time.
  void form_group(const SharedView& view, bool goes_on);
  void go_back();
  void adopt(const State& state);
  void await_others();
  enum class Round : std::uint8_t { before_restoring, after_restoring, at_end, beginning_anew };
  bool meet(std::int64_t version, Round number);
  bool ends_with_snapshot();
  void step();
  void forward(std::int64_t micro_batch, std::size_t part);
  void backward(std::int64_t micro_batch, std::size_t part);
  void spend(std::int64_t micro_batch, double share, std::size_t part);
  // A message about a micro-batch: `width` values of each sample.
  Activations activation(std::int64_t micro_batch, std::size_t width) const;
  void send(Body body, NodeId to);
  void update();
  bool is_first() const { return index_ == 0; }
  bool is_last() const { return index_ + 1 == job_.plan.workers(); }

  JobContext& job_;
  Pipeline& pipeline_;
  NodeId node_;
  std::uint32_t index_;
  Stage stage_;
  std::size_t inputs_;  // values of one sample from the stage before
  std::vector<StageWork> work_;
  Replica replica_;
  Mailbox mailbox_;
  std::int64_t clock_ = 0;      // current step
  std::int64_t samples_ = 0;    // computed
  std::int64_t snapshots_ = 0;  // number of due snapshots so far
  bool is_kept_ = false;        // whether the current step ends with a snapshot
  bool is_lost_ = false;
};

class Pipeline final : public Peers {
 public:
  Pipeline(JobContext& job, const Values* weights);
  void run(std::uint32_t index) override { stages_[index]->run(); }
  void on_arrival(const Message& message) override;
  std::vector<Slice> weights() const override;
  std::int64_t version() const override;
  void lose(std::uint32_t index) override { stages_[index]->lose(); }
  std::int64_t view(std::uint32_t index) const override { return stages_[index]->mailbox().view(); }
  std::int64_t samples_computed(std::uint32_t index) const override { return stages_[index]->samples(); }
  std::int64_t batch_size(std::uint32_t) const override { return job_.plan.scenario.training.batch_size; }
  std::vector<std::string> who_waits() const override;

  // Samples of micro-batch `index`.
  std::size_t samples_in(std::int64_t index) const;
  // Samples of a step that count as stage `index`'s.
  std::int64_t samples_of_stage(std::uint32_t index) const;

  // Computes a step's real numbers for the whole batch at once. This is the batch of all workers under bsp,
  // in worker order, or the batch of one worker whose devices are the stages.
  void start_gradient(std::int64_t clock);
  // The part `range` of that gradient.
  Slice gradient(Range range);

 private:
  JobContext& job_;
  std::size_t samples_, micro_batches_;
  std::vector<std::unique_ptr<StageWorker>> stages_;
  Pool::Handle task_;
  std::shared_ptr<Values> gradient_;
};

}  // namespace psim
