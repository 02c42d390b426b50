#include "sim/nodes/peer_step.hpp"

#include <numeric>
#include <utility>

#include "model/rounding.hpp"
#include "sim/nodes/charged_work.hpp"
#include "sim/scenario/spec/activations.hpp"

namespace psim {
namespace {

std::vector<Bucket> buckets_of(const JobPlan& plan) {
  const MessagesSpec& messages = plan.scenario.messages;
  if (!messages.overlap) return {{.range = {0, plan.keys.parameters}}};
  const double most =
      messages.bucket.value_or(Bytes{0}).value / static_cast<double>(bytes_per_value(plan.precision()));
  return cut_in_buckets(parameter_arrays(plan.scenario.model), static_cast<std::size_t>(messages.slice),
                        static_cast<std::size_t>(most));
}

}  // namespace

PeerStep::PeerStep(JobContext& job, NodeId node, Mailbox& mailbox)
    : job_(job),
      node_(node),
      index_(node - job.plan.first_worker()),
      mailbox_(mailbox),
      requests_(job, node),
      source_(job, node, requests_),
      strand_(job, node, mailbox),
      task_(job),
      buckets_(buckets_of(job.plan)),
      overlaps_(job.plan.scenario.messages.overlap) {}

void PeerStep::join(const std::vector<std::uint32_t>& members, const SharedView& view, std::int64_t clock,
                    bool goes_on) {
  const std::vector<std::int64_t> sizes = first_batch_sizes(job_);
  double samples = 0;
  for (const std::uint32_t w : members) samples += static_cast<double>(sizes[w]);
  const auto size = static_cast<double>(members.size());
  divisor_ = job_.plan.scenario.divides_first() ? size : 1;
  weight_of_sum_ = divisor_ / size;
  mean_size_ = samples / size;
  if (view && job_.plan.scenario.recovery.data == LostData::reassign) source_.share_out_among(view->workers);
  if (goes_on) source_.skip_to(clock);
}

void PeerStep::begin(std::int64_t clock, const Replica& replica) {
  clock_ = clock;
  mailbox_.wait_until(Awaited::samples, clock, [&] { return source_.prepare(clock); });
  batch_size_ = source_.batch_size();
  strand_.processor().start_timer();
  std::vector<Strand::Block> work = blocks();
  record(ComputePhase::begun);
  LocalWork local{.batches = source_.take(),
                  .devices = job_.plan.scenario.cluster.worker_devices.count,
                  .moves = job_.plan.pushes_moves()};
  if (local.moves) local.own = own_steps(job_.plan, clock, local.batches.size());
  if (job_.plan.learner != nullptr) task_.start(job_.assemble({replica.weights()}), std::move(local));
  const auto ended = [this] {
    record(ComputePhase::ended, source_.in_hand());
    source_.computed(strand_.processor().seconds());
  };
  if (overlaps_) return strand_.start(std::move(work), ended);
  strand_.compute(work.front());
  task_.wait();
  ended();
}

// One block for the whole step. With overlap: one block for the work before the last batch's backward pass,
// then one block for each layer's backward pass.
std::vector<Strand::Block> PeerStep::blocks() const {
  const TrainingSpec& training = job_.plan.scenario.training;
  const double flops = flops_of_samples(job_, index_, source_.local_steps_of(clock_), source_.scale()) *
                       job_.slowness.of_step(index_, clock_);
  const auto local_steps = static_cast<double>(training.local_steps_of(clock_));
  const double copies = all_copies(job_, job_.plan.keys.parameters, source_.local_steps_of(clock_));
  if (!overlaps_) return {{.flops = flops, .copy = copies}};
  const double batch = flops / (local_steps * static_cast<double>(training.accumulate));
  const std::vector<LayerWork> layers = step_work(job_.plan.scenario);
  std::vector<std::size_t> values(layers.size());
  for (const ParameterArray& array : parameter_arrays(job_.plan.scenario.model))
    values[array.layer] += array.range.count;
  std::vector<Strand::Block> blocks{{.flops = flops, .copy = copies}};
  for (std::size_t l = layers.size(); l-- > 0;) {
    const Strand::Block last{.flops = batch * layers[l].backward, .copy = all_copies(job_, values[l], 1) / 2};
    blocks.front().flops -= last.flops;
    blocks.front().copy -= last.copy;
    blocks.push_back(last);
  }
  return blocks;
}

void PeerStep::wait_for(std::size_t bucket) {
  const std::size_t layers = overlaps_ ? layer_work(job_.plan.scenario.model).size() : 0;
  if (overlaps_) strand_.wait_for(1 + layers - buckets_[bucket].layer, clock_);
  if (bucket > 0) return;
  task_.wait();
  gradient_ = task_.gradient();
  weigh();
}

// Makes the result the mean over a clock's samples, whatever the workers' shares are. Divides it by the
// number of workers if that comes before the sum.
void PeerStep::weigh() {
  const double weight = static_cast<double>(batch_size_) / mean_size_ / divisor_;
  if (!gradient_ || weight == 1) return;
  scale(*gradient_, weight);
  round_to(job_.plan.precision(), *gradient_, job_.plan.loss_scale());
}

void PeerStep::finish() {
  gradient_.reset();
  task_.take();
  source_.ask_ahead(clock_ + 1);
}

void PeerStep::give_up() {
  if (strand_.is_running()) record(ComputePhase::cancelled);
  strand_.stop();
  task_.drop();
  gradient_.reset();
}

void PeerStep::record(ComputePhase phase, std::optional<std::int64_t> samples) {
  job_.record(node_, Computation{.phase = phase, .clock = clock_, .version = clock_, .samples = samples});
}

}  // namespace psim
