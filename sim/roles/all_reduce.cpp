#include "sim/roles/all_reduce.hpp"

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "model/rounding.hpp"

namespace psim {
namespace {

// The sums travel on, so that they are rounded like all that travels.
void add(const JobContext& job, Values& sum, const Slice& part) {
  with_scalar(sum.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto from = part.as<Scalar>();
    const auto into = sum.as<Scalar>().subspan(part.begin, part.count);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
    round_to(job.plan.precision(), into, job.plan.loss_scale());
  });
}

}  // namespace

AllReduceWorker::AllReduceWorker(JobContext& job, std::uint32_t index, const Values* weights)
    : job_(job),
      node_(job.plan.first_worker() + index),
      index_(index),
      rounds_(exchanges(job.plan.scenario.architecture.algorithm, job.plan.workers(), index)),
      replica_(job, weights, {0, job.plan.keys.parameters}),
      mailbox_(job, node_),
      sent_(simgrid::s4u::Semaphore::create(0)) {}

void AllReduceWorker::run() {
  enter(job_, node_, mailbox_);
  for (; clock_ < job_.plan.steps; ++clock_) {
    compute_gradient();  // real numbers; takes simulated time
    for (const Exchange& round : rounds_) exchange(round);
    update();
  }
  leave(job_, node_, clock_);
}

void AllReduceWorker::compute_gradient() {
  job_.record(node_, Computation{.clock = clock_, .version = replica_.version()});
  Pool::Handle task;
  if (job_.plan.learner != nullptr) {
    gradient_ = std::make_shared<Values>();
    task = job_.pool.submit([weights = replica_.weights(), learner = job_.plan.learner.get(),
                             result = gradient_, batch = job_.plan.sampler->batch(index_, clock_),
                             precision = job_.plan.precision(), scale = job_.plan.loss_scale()] {
      *result = learner->gradient(*weights.values, batch);
      round_to(precision, *result, scale);
    });
  }
  compute(job_, node_, flops_of_step(job_, index_, clock_));
  if (task) job_.pool.wait(task);
  job_.record(node_, Computation{.phase = ComputePhase::ended,
                                 .clock = clock_,
                                 .version = replica_.version(),
                                 .samples = job_.plan.scenario.training.batch_size});
}

// A worker sends and receives at once, and goes on when both are done. What it sends may stay in place: it
// is changed only by a sum that the receiver has had a part in, so after the receiver has read it.
void AllReduceWorker::exchange(const Exchange& round) {
  if (round.send) {
    const Range range = range_of(round.send->chunks, job_.plan.keys.parameters, job_.plan.workers());
    const std::uint64_t bytes = range.count * bytes_per_value(job_.plan.precision());
    job_.network.send(
        {.from = node_,
         .to = job_.plan.first_worker() + round.send->worker,
         .body = Chunk{.clock = clock_,
                       .version = replica_.version(),
                       .round = round.round,
                       .sum = {.values = {gradient_, range.begin, range.count}, .bytes = bytes}}});
  }
  if (round.receive) {
    const Message message = mailbox_.take(
        MessageKind::chunk, job_.plan.first_worker() + round.receive->worker, clock_, round.round);
    const Slice& part = message.as<Chunk>()->sum.values;
    if (gradient_ && round.add && !mutant("parts-replace-the-sum")) add(job_, *gradient_, part);
    else if (gradient_) gradient_->copy_from(*part.values, part.begin, part.count, part.begin);
  }
  if (round.send) sent_->acquire();
}

void AllReduceWorker::update() {
  replica_.update({gradient_, 0, job_.plan.keys.parameters}, 1.0 / static_cast<double>(job_.plan.workers()));
  gradient_.reset();
  job_.record(node_, ModelUpdate{.version = replica_.version()});
  job_.observer.on_update();
}

AllReduce::AllReduce(JobContext& job, const Values* weights) : first_worker_(job.plan.first_worker()) {
  for (std::uint32_t w = 0; w < job.plan.workers(); ++w)
    workers_.push_back(std::make_unique<AllReduceWorker>(job, w, weights));
}

void AllReduce::on_arrival(const Message& message) {
  if (message.is<Chunk>()) workers_[message.from - first_worker_]->sent();
}

// All copies of a version are equal.
std::vector<Slice> AllReduce::weights() const {
  const auto last =
      std::ranges::min_element(workers_, {}, [](const auto& worker) { return worker->replica().version(); });
  return {(*last)->replica().weights()};
}

}  // namespace psim
