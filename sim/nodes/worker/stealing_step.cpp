#include "sim/nodes/worker/stealing_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/parameters.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

Stealing::Options options_of(const StepContext& context) {
  constexpr unsigned pieces_of_a_life = 32;  // as a power of two
  const TrainingSpec& training = context.job.plan.scenario.training;
  const double first = training.work_piece * static_cast<double>(training.batch_size);
  return {.workers = context.job.plan.workers(),
          .me = context.index,
          .first_piece = static_cast<std::int64_t>(std::ceil(first)),
          .same_clock = context.job.plan.rule.drops_stale,
          .first_number = std::int64_t{context.job.network.incarnation(context.node)} << pieces_of_a_life};
}

}  // namespace

SharedStep::SharedStep(StepContext& context)
    : step_(context), protocol_(options_of(context)), stolen_(context.job.plan.workers()) {}

bool SharedStep::compute() {
  compute_own();
  const std::int64_t given_away = step_.source.in_hand() - protocol_.own();
  step_.record(ComputePhase::ended, protocol_.own());
  step_.source.computed(step_.processor.seconds(), given_away);
  protocol_.finish();
  tell_all(false);
  await_pieces();
  return true;
}

void SharedStep::compute_own() {
  JobContext& job = step_.job;
  is_here_ = true;
  step_.prepare();
  const double own = step_.flops_of_samples() * job.slowness.of_step(step_.index, step_.number);
  const double own_update = step_.flops_of_step() - own;
  LocalWork work = step_.begin(false);
  const std::int64_t samples = step_.source.in_hand();
  flops_per_sample_ = own / static_cast<double>(samples);
  keys_ = work.keys;
  own_ = std::move(work.own);
  weights_ = step_.take_weights(keys_.get());
  if (weights_) weights_->join();        // no gradient may overwrite them: others need them
  step_.record_begun(step_.number - 1);  // begin() has counted it
  step_.processor.copy(step_.copy_seconds());
  if (own_update > 0) step_.processor.compute(own_update, false);
  batch_.clear();
  for (const Batch& one : work.batches.front()) batch_.insert(batch_.end(), one.begin(), one.end());
  parts_.clear();
  taken_back_.clear();
  computed_.clear();
  protocol_.begin(step_.clock, samples);
  double left = own;
  for (bool is_done = false; !is_done;) {
    while (job.network.has_mail(step_.node)) step_.kv.wait_for_message();
    if (flops_per_sample_ > 0) left = give(left / flops_per_sample_) * flops_per_sample_;
    is_done = step_.processor.compute(left);
    left = step_.processor.left();
  }
}

double SharedStep::give(double left) {
  for (;;) {
    const auto piece = protocol_.give(static_cast<std::int64_t>(std::ceil(left)) - 1);
    if (!piece) return left;
    send_piece(*piece);
    left -= static_cast<double>(piece->samples.count);
  }
}

void SharedStep::send_piece(const Stealing::Piece& piece) {
  psim::Piece given{.clock = protocol_.clock(),
                    .number = piece.number,
                    .count = static_cast<std::int64_t>(piece.samples.count)};
  given.bytes = bytes_of({}, given.count);
  if (!batch_.empty()) {
    const auto first = batch_.begin() + static_cast<std::ptrdiff_t>(piece.samples.begin);
    given.samples = std::make_shared<const Batch>(first, first + given.count);
    given.bytes = bytes_of(*given.samples, given.count);
  }
  if (keys_) {  // the helper has not pulled these
    given.weights = weights_;
    given.keys = keys_;
    given.bytes += bytes_of_gradient(*given.samples, true);
  }
  step_.job.network.send(
      {.from = step_.node, .to = step_.job.plan.first_worker() + piece.helper, .body = std::move(given)});
}

// A worker with the data needs only the numbers of the samples. Others need the samples themselves.
std::uint64_t SharedStep::bytes_of(std::span<const std::uint32_t> samples, std::int64_t count) const {
  const Scenario& scenario = step_.job.plan.scenario;
  constexpr std::uint64_t bytes_per_id = 4;
  if (scenario.data.partition == Partition::iid && scenario.cluster.delivery.source == Delivery::local)
    return bytes_per_id * static_cast<std::uint64_t>(count);
  return sample_bytes(step_.job, samples, count);
}

// For a sparse model: the values of these samples' features, each with its key.
std::uint64_t SharedStep::bytes_of_gradient(const Batch& samples, bool sparse) const {
  const JobPlan& plan = step_.job.plan;
  const std::size_t value = bytes_per_value(plan.precision());
  if (!sparse) return value * plan.keys.parameters;
  return (value + plan.bytes_per_key()) * plan.learner->keys(samples).size();
}

// Waits until other workers have computed the pieces that they took, or this worker has.
void SharedStep::await_pieces() {
  JobContext& job = step_.job;
  const auto look_around = [this] {
    const std::vector<bool>& members = step_.kv.members();
    for (std::uint32_t w = 0; w < members.size(); ++w) {
      if (!members[w]) take_back(w);
    }
    return !protocol_.is_waiting() || !taken_back_.empty();
  };
  while (protocol_.is_waiting() || !taken_back_.empty()) {
    std::optional<double> date;
    if (job.plan.scenario.may_fail()) date = Agenda::now() + job.plan.retry().timeout;
    const bool is_over = step_.kv.wait_until(Awaited::peers, step_.clock, look_around, date);
    if (!is_over) take_back({});
    compute_taken_back();
  }
}

void SharedStep::take_back(std::optional<std::uint32_t> helper) {
  for (const Range& range : protocol_.take_back(helper)) taken_back_.push_back(range);
}

void SharedStep::compute_taken_back() {
  for (const Range& range : std::exchange(taken_back_, {})) {
    const auto count = static_cast<std::int64_t>(range.count);
    spend(protocol_.clock(), count);
    step_.source.computed_more(count);
    computed_.push_back(range);
  }
}

Timestamp SharedStep::push() {
  const std::int64_t all = step_.source.in_hand();
  std::shared_ptr<Values> gradient;
  if (!batch_.empty()) {
    Batch own(batch_.begin(), batch_.begin() + protocol_.own());
    for (const Range& range : computed_) {
      const auto first = batch_.begin() + static_cast<std::ptrdiff_t>(range.begin);
      own.insert(own.end(), first, first + static_cast<std::ptrdiff_t>(range.count));
    }
    double share = static_cast<double>(own.size()) / static_cast<double>(all);
    gradient = gradient_of(std::move(own), weights_, keys_);
    for (const PartialGradient& part : parts_) {
      const double more = static_cast<double>(part.samples) / static_cast<double>(all);
      scale(*gradient, share);
      add(*gradient, more, *part.gradient);
      share = 1;
    }
    if (own_) {
      Values after(weights_->get());
      step_alone(after, gradient, *own_, 0, local_);
      gradient = std::make_shared<Values>(move_between(weights_->get(), after));
    }
    if (own_ || !parts_.empty()) round_to(step_.job.plan.precision(), *gradient, step_.job.plan.loss_scale());
  }
  return step_.push(step_.kv.all_shards(), step_.to_push(gradient));
}

// If others may be behind, they would wait for their pieces that this worker still has.
void SharedStep::leave(bool completes) {
  is_here_ = false;
  if (completes && step_.job.plan.rule.waits_for_all()) return;
  for (std::uint32_t w = 0; w < stolen_.size(); ++w) return_pieces(w);
  tell_all(true);
}

void SharedStep::tell_all(bool leaves) {
  for (std::uint32_t w = 0; w < step_.job.plan.workers(); ++w) {
    if (w != step_.index) tell(w, protocol_.clock(), leaves);
  }
}

void SharedStep::tell(std::uint32_t worker, std::int64_t clock, bool leaves) {
  step_.job.network.send(
      {.from = step_.node, .to = step_.job.plan.first_worker() + worker, .body = Idle{clock, leaves}});
}

void SharedStep::on_arrival(const Message& message) {
  const Idle* request = message.as<Idle>();
  const bool concerns = request != nullptr && (protocol_.can_help(request->clock) ||
                                               protocol_.has_pieces_of(index_of(message.from)));
  if (concerns || message.is<psim::Piece>()) step_.processor.pause();
}

void SharedStep::on_peer(const Message& message) {
  const std::uint32_t from = index_of(message.from);
  if (const Idle* idle = message.as<Idle>()) {
    if (idle->leaves) {
      protocol_.leaves(from, idle->clock);
      return take_back(from);
    }
    protocol_.idle(from, idle->clock);
    return_pieces(from);
  } else if (const psim::Piece* piece = message.as<psim::Piece>()) {
    on_piece(message.from, *piece);
  } else if (const PieceGradient* gradient = message.as<PieceGradient>()) {
    on_gradient(message.from, *gradient);
  }
}

// A piece may have been on its way when its helper left. Where only fresh pushes count, the weights must
// belong to the piece's clock.
bool SharedStep::is_helpful(const psim::Piece& piece) const {
  if (!is_here_) return false;
  if (piece.weights || !step_.job.plan.learner) return true;
  return weights_ && (!step_.job.plan.rule.drops_stale || piece.clock == protocol_.clock());
}

void SharedStep::on_piece(NodeId from, const psim::Piece& piece) {
  const std::uint32_t owner = index_of(from);
  if (protocol_.has(owner, piece.clock, piece.number)) return;
  if (PSIM_PROBE(!is_helpful(piece), "a helper cannot compute a piece")) {
    step_.job.network.send({.from = step_.node,
                            .to = from,
                            .body = PieceGradient{.clock = piece.clock, .pieces = {piece.number}}});
    return;
  }
  spend(piece.clock, piece.count);
  step_.source.computed_more(piece.count);
  if (piece.clock > protocol_.clock_of_pieces(owner)) stolen_[owner] = {};
  protocol_.computed(owner, piece.clock, piece.number);
  if (piece.clock < protocol_.clock_of_pieces(owner)) return;
  Stolen& stolen = stolen_[owner];
  if (piece.samples)
    stolen.samples.insert(stolen.samples.end(), piece.samples->begin(), piece.samples->end());
  stolen.count += piece.count;
  stolen.weights = piece.weights;
  stolen.keys = piece.keys;
  if (protocol_.has_finished(owner, piece.clock)) return return_pieces(owner);
  tell(owner, protocol_.clock(), false);
}

void SharedStep::return_pieces(std::uint32_t owner) {
  const std::int64_t clock = protocol_.clock_of_pieces(owner);
  std::vector<std::int64_t> pieces = protocol_.take_due(owner);
  if (pieces.empty()) return;
  Stolen stolen = std::exchange(stolen_[owner], {});
  PieceGradient answer{.clock = clock, .samples = stolen.count, .pieces = std::move(pieces)};
  answer.bytes = bytes_of_gradient(stolen.samples, stolen.keys != nullptr);
  if (!stolen.samples.empty())
    answer.gradient =
        gradient_of(std::move(stolen.samples), stolen.weights ? stolen.weights : weights_, stolen.keys);
  step_.job.network.send(
      {.from = step_.node, .to = step_.job.plan.first_worker() + owner, .body = std::move(answer)});
}

void SharedStep::on_gradient(NodeId from, const PieceGradient& gradient) {
  const std::uint32_t helper = index_of(from);
  if (gradient.clock != protocol_.clock()) return;
  if (PSIM_PROBE(gradient.samples == 0, "a helper refuses a piece")) return take_back(helper);
  if (protocol_.returned(helper, gradient.pieces)) parts_.push_back({gradient.samples, gradient.gradient});
}

// Spends the time of `samples` samples on this worker.
void SharedStep::spend(std::int64_t clock, std::int64_t samples) {
  Computation record{.work = Work::piece, .clock = clock};
  step_.job.record(step_.node, record);
  psim::compute(step_.job, step_.node, flops_per_sample_ * static_cast<double>(samples));
  record.phase = ComputePhase::ended;
  record.samples = samples;
  step_.job.record(step_.node, record);
}

std::shared_ptr<Values> SharedStep::gradient_of(Batch samples, const std::shared_ptr<Assembly>& weights,
                                                const std::shared_ptr<const BatchKeys>& keys) const {
  JobContext& job = step_.job;
  auto gradient = std::make_shared<Values>();
  const Pool::Handle task = job.pool.submit([&] {
    LocalCopy none;
    const LocalWork work{.batches = {{std::move(samples)}},
                         .keys = keys,
                         .devices = job.plan.scenario.cluster.worker_devices.count};
    *gradient = local_gradient(*job.plan.learner, weights.get(), work, none);
    if (round_to(job.plan.precision(), *gradient, job.plan.loss_scale())) job.state.totals.overflow();
  });
  job.pool.wait(task);
  return gradient;
}

}  // namespace psim
