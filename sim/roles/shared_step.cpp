#include "sim/roles/shared_step.hpp"

#include <cmath>
#include <utility>

#include "model/mutant.hpp"
#include "model/rounding.hpp"

namespace psim {

SharedStep::SharedStep(StepContext& context)
    : step_(context),
      protocol_(context.job.plan.workers(), context.index, context.job.plan.scenario.training.batch_size,
                context.job.plan.scenario.training.work_piece) {}

bool SharedStep::compute() {
  JobContext& job = step_.job;
  step_.prepare();
  const double own = step_.flops_of_samples() * job.slowness.of_step(step_.index, step_.number);
  flops_per_sample_ = own / static_cast<double>(step_.batch_size);
  const double own_update = step_.flops_of_step() - own;
  LocalWork work = step_.begin(false);
  weights_ = step_.take_weights(nullptr);
  if (weights_) weights_->join();  // two gradients need them: none may take them for itself
  step_.record(ComputePhase::begun);
  step_.processor.copy(step_.copy_seconds());
  if (own_update > 0) step_.processor.compute(own_update, false);
  batch_ = work.batches.front().empty() ? Batch{} : std::move(work.batches.front().front());
  stolen_.clear();
  stolen_count_ = 0;
  protocol_.begin(step_.clock);
  double left = own;
  for (bool is_done = false; !is_done;) {
    while (job.network.has_mail(step_.node)) step_.kv.wait_for_message();
    if (flops_per_sample_ > 0) left = give(left / flops_per_sample_) * flops_per_sample_;
    is_done = step_.processor.compute(left);
    left = step_.processor.left();
  }
  const std::int64_t given_away = step_.batch_size - protocol_.own();
  step_.record(ComputePhase::ended, step_.source.in_hand() - given_away);
  step_.source.computed(step_.processor.seconds(), given_away);
  return true;
}

double SharedStep::give(double left) {
  for (;;) {
    const auto piece = protocol_.give(static_cast<std::int64_t>(std::ceil(left)) - 1);
    if (!piece) return left;
    const auto count = static_cast<std::int64_t>(piece->samples.count);
    SharedKeys samples;
    std::uint64_t bytes = bytes_of({}, count);
    if (!batch_.empty()) {
      const auto first = batch_.begin() + static_cast<std::ptrdiff_t>(piece->samples.begin);
      samples = std::make_shared<const Batch>(first, first + static_cast<std::ptrdiff_t>(count));
      bytes = bytes_of(*samples, count);
    }
    step_.job.network.send({.from = step_.node,
                            .to = step_.job.plan.first_worker() + piece->helper,
                            .body = Piece{.clock = protocol_.clock(),
                                          .count = count,
                                          .samples = std::move(samples),
                                          .sample_bytes = bytes}});
    left -= static_cast<double>(count);
  }
}

// Who has the data needs to know which samples; others need the samples themselves.
std::uint64_t SharedStep::bytes_of(std::span<const std::uint32_t> samples, std::int64_t count) const {
  const Scenario& scenario = step_.job.plan.scenario;
  constexpr std::uint64_t bytes_per_id = 4;
  if (scenario.data.partition == Partition::iid && scenario.cluster.delivery.source == Delivery::local)
    return mutant("pieces-weigh-nothing") ? 0 : bytes_per_id * static_cast<std::uint64_t>(count);
  return sample_bytes(step_.job, samples, count);
}

Timestamp SharedStep::push() {
  const std::int64_t own = protocol_.own();
  if (!batch_.empty()) batch_.resize(static_cast<std::size_t>(own));
  const Timestamp pushed = push(std::move(batch_), own);
  protocol_.finish();
  for (std::uint32_t w = 0; w < step_.job.plan.workers(); ++w) {
    if (w != step_.index) tell(w);
  }
  return pushed;
}

void SharedStep::tell(std::uint32_t worker) {
  step_.job.network.send({.from = step_.node,
                          .to = step_.job.plan.first_worker() + worker,
                          .body = Idle{protocol_.clock(), protocol_.given_to(worker)}});
}

void SharedStep::on_arrival(const Message& message) {
  const Idle* request = message.as<Idle>();
  if (request != nullptr && request->clock == protocol_.clock()) step_.processor.pause();
}

void SharedStep::on_peer(const Message& message) {
  if (const Idle* idle = message.as<Idle>())
    protocol_.idle(index_of(message.from), idle->clock, idle->pieces_got);
  else if (const Piece* piece = message.as<Piece>()) compute_piece(message.from, *piece);
  push_if_over();
}

void SharedStep::compute_piece(NodeId from, const Piece& piece) {
  JobContext& job = step_.job;
  Computation record{.work = Work::piece, .clock = piece.clock};
  job.record(step_.node, record);
  psim::compute(job, step_.node, flops_per_sample_ * static_cast<double>(piece.count));
  record.phase = ComputePhase::ended;
  record.samples = piece.count;
  job.record(step_.node, record);
  if (piece.samples) stolen_.insert(stolen_.end(), piece.samples->begin(), piece.samples->end());
  stolen_count_ += piece.count;
  step_.source.computed_for_others(piece.count);
  protocol_.computed(index_of(from));
  if (!protocol_.is_idle(index_of(from))) tell(index_of(from));
}

void SharedStep::push_if_over() {
  if (stolen_count_ == 0 || !protocol_.is_over()) return;
  push(std::exchange(stolen_, {}), std::exchange(stolen_count_, 0));
}

Timestamp SharedStep::push(Batch samples, std::int64_t count) {
  JobContext& job = step_.job;
  std::shared_ptr<Values> gradient;
  if (weights_) {
    gradient = std::make_shared<Values>();
    const Pool::Handle task = job.pool.submit([&] {
      LocalCopy none;
      const LocalWork work{.batches = {{std::move(samples)}},
                           .devices = job.plan.scenario.cluster.worker_devices.count};
      *gradient = local_gradient(*job.plan.learner, weights_.get(), work, none);
      round_to(job.plan.precision(), *gradient, job.plan.loss_scale());
    });
    job.pool.wait(task);
  }
  return step_.kv.push(step_.kv.all_shards(), protocol_.clock(), gradient, count);
}

}  // namespace psim
