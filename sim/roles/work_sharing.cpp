#include "sim/roles/work_sharing.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/mutant.hpp"
#include "model/rounding.hpp"
#include "sim/roles/batch_source.hpp"

namespace psim {

WorkSharing::WorkSharing(World& world, NodeId worker, KvClient& kv)
    : world_(world),
      node_(worker),
      kv_(kv),
      protocol_(world.workers(), worker - world.first_worker(), world.scenario.training.batch_size,
                world.scenario.training.work_piece) {}

void WorkSharing::begin(std::int64_t clock, Batch batch, std::shared_ptr<Assembly> weights,
                        double flops_per_sample) {
  batch_ = std::move(batch);
  weights_ = std::move(weights);
  if (weights_) weights_->join();  // two gradients need them: none may take them for itself
  flops_per_sample_ = flops_per_sample;
  stolen_.clear();
  stolen_count_ = 0;
  protocol_.begin(clock);
}

double WorkSharing::give(double left) {
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
    world_.network.send({.from = node_,
                         .to = world_.first_worker() + piece->helper,
                         .body = Piece{.clock = protocol_.clock(),
                                       .count = count,
                                       .samples = std::move(samples),
                                       .sample_bytes = bytes}});
    left -= static_cast<double>(count);
  }
}

// Who has the data needs to know which samples; others need the samples themselves.
std::uint64_t WorkSharing::bytes_of(std::span<const std::uint32_t> samples, std::int64_t count) const {
  const Scenario& scenario = world_.scenario;
  constexpr std::uint64_t bytes_per_id = 4;
  if (scenario.data.partition == Partition::iid && scenario.cluster.delivery.source == Delivery::local)
    return mutant("pieces-weigh-nothing") ? 0 : bytes_per_id * static_cast<std::uint64_t>(count);
  return sample_bytes(world_, samples, count);
}

Timestamp WorkSharing::finish() {
  const std::int64_t own = protocol_.own();
  if (!batch_.empty()) batch_.resize(static_cast<std::size_t>(own));
  const Timestamp pushed = push(std::move(batch_), own);
  protocol_.finish();
  for (std::uint32_t w = 0; w < world_.workers(); ++w) {
    if (w != index_of(node_)) tell(w);
  }
  return pushed;
}

void WorkSharing::tell(std::uint32_t worker) {
  world_.network.send({.from = node_,
                       .to = world_.first_worker() + worker,
                       .body = Idle{protocol_.clock(), protocol_.given_to(worker)}});
}

void WorkSharing::on(NodeId from, const Idle& idle) {
  protocol_.idle(index_of(from), idle.clock, idle.pieces_got);
  push_if_over();
}

void WorkSharing::on(NodeId from, const Piece& piece) {
  world_.record(node_, Computation{.work = Work::piece, .clock = piece.clock});
  {
    const World::Busy busy(world_, node_);
    simgrid::s4u::this_actor::execute(flops_per_sample_ * static_cast<double>(piece.count));
  }
  world_.record(
      node_,
      Computation{
          .phase = ComputePhase::ended, .work = Work::piece, .clock = piece.clock, .samples = piece.count});
  if (piece.samples) stolen_.insert(stolen_.end(), piece.samples->begin(), piece.samples->end());
  stolen_count_ += piece.count;
  stolen_in_all_ += piece.count;
  protocol_.computed(index_of(from));
  if (!protocol_.is_idle(index_of(from))) tell(index_of(from));
  push_if_over();
}

void WorkSharing::push_if_over() {
  if (stolen_count_ == 0 || !protocol_.is_over()) return;
  push(std::exchange(stolen_, {}), std::exchange(stolen_count_, 0));
}

Timestamp WorkSharing::push(Batch samples, std::int64_t count) {
  std::shared_ptr<Values> gradient;
  if (weights_) {
    gradient = std::make_shared<Values>();
    const Pool::Handle task = world_.pool.submit([&] {
      LocalCopy none;
      const LocalWork work{.batches = {{std::move(samples)}},
                           .devices = world_.scenario.cluster.worker_devices.count};
      *gradient = local_gradient(*world_.learner, weights_.get(), work, none);
      round_to(world_.precision(), *gradient, world_.loss_scale());
    });
    world_.pool.wait(task);
  }
  return kv_.push(kv_.all_shards(), protocol_.clock(), gradient, count);
}

}  // namespace psim
