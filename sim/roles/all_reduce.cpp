#include "sim/roles/all_reduce.hpp"

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "model/rounding.hpp"

namespace psim {
namespace {

// The sums travel on, so that they are rounded like all that travels.
void add(const World& world, Values& sum, const Slice& part) {
  with_scalar(sum.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto from = part.as<Scalar>();
    const auto into = sum.as<Scalar>().subspan(part.begin, part.count);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
    round_to(world.precision(), into, world.loss_scale());
  });
}

}  // namespace

AllReduceWorker::AllReduceWorker(World& world, std::uint32_t index, const Values* weights)
    : world_(world),
      node_(world.first_worker() + index),
      index_(index),
      rounds_(exchanges(world.scenario.architecture.algorithm, world.workers(), index)),
      replica_(world, weights, {0, world.keys.parameters}),
      mailbox_(world, node_),
      sent_(simgrid::s4u::Semaphore::create(0)) {}

void AllReduceWorker::run() {
  enter(world_, node_, mailbox_);
  for (; clock_ < world_.steps; ++clock_) {
    compute_gradient();  // real numbers; takes simulated time
    for (const Exchange& round : rounds_) exchange(round);
    update();
  }
  leave(world_, node_, clock_);
}

void AllReduceWorker::compute_gradient() {
  world_.record(node_, Computation{.clock = clock_, .version = replica_.version()});
  Pool::Handle task;
  if (world_.learner != nullptr) {
    gradient_ = std::make_shared<Values>();
    task = world_.pool.submit([weights = replica_.weights(), learner = world_.learner, result = gradient_,
                               batch = world_.sampler->batch(index_, clock_), precision = world_.precision(),
                               scale = world_.loss_scale()] {
      *result = learner->gradient(*weights.values, batch);
      round_to(precision, *result, scale);
    });
  }
  compute(world_, node_, flops_of_step(world_, index_, clock_));
  if (task) world_.pool.wait(task);
  world_.record(node_, Computation{.phase = ComputePhase::ended,
                                   .clock = clock_,
                                   .version = replica_.version(),
                                   .samples = world_.scenario.training.batch_size});
}

// A worker sends and receives at once, and goes on when both are done. What it sends may stay in place: it
// is changed only by a sum that the receiver has had a part in, so after the receiver has read it.
void AllReduceWorker::exchange(const Exchange& round) {
  if (round.send) {
    const Range range = range_of(round.send->chunks, world_.keys.parameters, world_.workers());
    const std::uint64_t bytes = range.count * bytes_per_value(world_.precision());
    world_.network.send(
        {.from = node_,
         .to = world_.first_worker() + round.send->worker,
         .body = Chunk{.clock = clock_,
                       .version = replica_.version(),
                       .round = round.round,
                       .sum = {.values = {gradient_, range.begin, range.count}, .bytes = bytes}}});
  }
  if (round.receive) {
    const Message message =
        mailbox_.take(MessageKind::chunk, world_.first_worker() + round.receive->worker, clock_, round.round);
    const Slice& part = message.as<Chunk>()->sum.values;
    if (gradient_ && round.add && !mutant("parts-replace-the-sum")) add(world_, *gradient_, part);
    else if (gradient_) gradient_->copy_from(*part.values, part.begin, part.count, part.begin);
  }
  if (round.send) sent_->acquire();
}

void AllReduceWorker::update() {
  replica_.update({gradient_, 0, world_.keys.parameters}, 1.0 / static_cast<double>(world_.workers()));
  gradient_.reset();
  world_.record(node_, ModelUpdate{.version = replica_.version()});
  if (world_.on_update) world_.on_update();
}

AllReduce::AllReduce(World& world, const Values* weights) : first_worker_(world.first_worker()) {
  for (std::uint32_t w = 0; w < world.workers(); ++w)
    workers_.push_back(std::make_unique<AllReduceWorker>(world, w, weights));
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
