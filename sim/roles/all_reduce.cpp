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
      replica_(job, weights, {0, job.plan.keys.parameters}),
      mailbox_(job, node_, true) {}

void AllReduceWorker::run() {
  const Start start = enter(job_, node_, mailbox_);
  SharedView view = start.view;
  bool goes_on = start.goes_on;
  if (!goes_on && !has_copy_) adopt({});
  for (;;) {
    try {
      form_group(view, goes_on);
      train();
      return leave(job_, node_, clock_, mailbox_);
    } catch (const NewGroup& group) {
      view = group.view;
      goes_on = true;
      gradient_.reset();
    }
  }
}

void AllReduceWorker::lose() {
  has_copy_ = false;
  gradient_.reset();
  mailbox_.clear();
}

void AllReduceWorker::train() {
  while (clock_ < job_.plan.steps) {
    compute_gradient();  // real numbers; takes simulated time
    for (const Exchange& round : rounds_) exchange(round);
    update();
    ++clock_;
    take_snapshot();
  }
}

void AllReduceWorker::form_group(const SharedView& view, bool goes_on) {
  mailbox_.join(view);
  members_.clear();
  const LostWorkers lost = job_.plan.scenario.recovery.workers;
  const bool waits = !view || lost == LostWorkers::wait;
  for (std::uint32_t w = 0; w < job_.plan.workers(); ++w) {
    if (waits || view->workers[w]) members_.push_back(w);
  }
  const auto me = std::ranges::find(members_, index_);
  const auto through = static_cast<std::size_t>(std::ranges::count(job_.state.completed, true));
  const bool is_whole = members_.size() + through >= job_.plan.workers();
  if (me == members_.end() || (waits && !has_copy_) || (lost == LostWorkers::restart && !is_whole))
    mailbox_.await_group();
  rank_ = static_cast<std::uint32_t>(me - members_.begin());
  rounds_ = exchanges(job_.plan.scenario.architecture.algorithm, static_cast<std::uint32_t>(members_.size()),
                      rank_);
  if (!goes_on || waits) return;
  agree();
  clock_ = replica_.version();
}

void AllReduceWorker::agree() {
  Regroup all;
  if (rank_ > 0) {
    mailbox_.send(node_of(0), Standing{has_copy_ ? replica_.version() : -1});
    all = *mailbox_.take(MessageKind::regroup, node_of(0), 0, 0).as<Regroup>();
  } else {
    std::vector<std::int64_t> versions{has_copy_ ? replica_.version() : -1};
    for (std::uint32_t rank = 1; rank < members_.size(); ++rank)
      versions.push_back(mailbox_.take(MessageKind::standing, node_of(rank), 0, 0).as<Standing>()->version);
    const auto newest = std::ranges::max_element(versions);
    const bool is_one_lost = std::ranges::find(versions, -1) != versions.end();
    const bool restarts = job_.plan.scenario.recovery.workers == LostWorkers::restart;
    all.version = restarts && is_one_lost ? -1 : std::max<std::int64_t>(*newest, 0);
    all.holder = node_of(static_cast<std::uint32_t>(newest - versions.begin()));
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
      if (versions[rank] < *newest) all.behind.push_back(node_of(rank));
    }
    for (std::uint32_t rank = 1; rank < members_.size(); ++rank) mailbox_.send(node_of(rank), Regroup(all));
  }
  if (all.version < 0) return read_snapshot();
  if (!has_copy_ && all.behind.empty()) adopt({});  // nobody has more than the first weights
  for (const NodeId node : all.behind) {
    if (node_ == all.holder) mailbox_.send(node, copy());
    if (node_ == node) adopt(*mailbox_.take(MessageKind::state, all.holder, 0, 0).as<State>());
  }
}

void AllReduceWorker::read_snapshot() {
  if (!job_.plan.scenario.snapshot.every || mutant("restarts-begin-anew")) {
    adopt({});
    return;
  }
  mailbox_.send(job_.plan.snapshot_node(), Restore{});
  adopt(*mailbox_.take_any(MessageKind::state, job_.plan.snapshot_node()).as<State>());
}

void AllReduceWorker::adopt(const State& state) {
  if (!mutant("newcomers-keep-their-copy")) replica_.adopt(state);
  has_copy_ = true;
}

State AllReduceWorker::copy() const {
  return {
      .version = replica_.version(), .entries = 0, .replica = replica_.content(), .bytes = replica_.bytes()};
}

// The first worker's copy is everybody's.
void AllReduceWorker::take_snapshot() {
  const std::optional<Period>& every = job_.plan.scenario.snapshot.every;
  if (!every || rank_ > 0) return;
  const std::int64_t turn = every->by_updates()
                                ? replica_.version() / every->updates
                                : static_cast<std::int64_t>(Agenda::now() / every->time.value);
  if (turn <= std::exchange(snapshots_, turn)) return;
  job_.network.send({.from = node_, .to = job_.plan.snapshot_node(), .body = copy()});
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
  samples_ += job_.plan.scenario.training.batch_size;
}

// A worker sends and receives at once, and goes on when both are done. What it sends may stay in place: it
// is changed only by a sum that the receiver has had a part in, so after the receiver has read it.
void AllReduceWorker::exchange(const Exchange& round) {
  const auto workers = static_cast<std::uint32_t>(members_.size());
  if (round.send) {
    const Range range = range_of(round.send->chunks, job_.plan.keys.parameters, workers);
    const std::uint64_t bytes = range.count * bytes_per_value(job_.plan.precision());
    mailbox_.send(node_of(round.send->worker),
                  Chunk{.clock = clock_,
                        .version = replica_.version(),
                        .round = round.round,
                        .sum = {.values = {gradient_, range.begin, range.count}, .bytes = bytes}});
  }
  if (round.receive) {
    const Message message =
        mailbox_.take(MessageKind::chunk, node_of(round.receive->worker), clock_, round.round);
    const Slice& part = message.as<Chunk>()->sum.values;
    if (gradient_ && round.add && !mutant("parts-replace-the-sum")) add(job_, *gradient_, part);
    else if (gradient_) gradient_->copy_from(*part.values, part.begin, part.count, part.begin);
  }
  mailbox_.flush();
}

void AllReduceWorker::update() {
  const std::size_t gradients = mutant("means-over-all-workers") ? job_.plan.workers() : members_.size();
  replica_.update({gradient_, 0, job_.plan.keys.parameters}, 1.0 / static_cast<double>(gradients));
  gradient_.reset();
  job_.record(node_, ModelUpdate{.version = replica_.version()});
  job_.observer.on_update();
}

AllReduce::AllReduce(JobContext& job, const Values* weights) : job_(job) {
  for (std::uint32_t w = 0; w < job.plan.workers(); ++w)
    workers_.push_back(std::make_unique<AllReduceWorker>(job, w, weights));
}

void AllReduce::on_arrival(const Message& message) {
  if (job_.plan.is_worker(message.from))
    workers_[message.from - job_.plan.first_worker()]->mailbox().arrived(message);
}

// All copies of a version are equal. A worker that is down has none, and so has one that has just come back.
std::vector<Slice> AllReduce::weights() const {
  const AllReduceWorker* last = nullptr;
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    const AllReduceWorker& one = *workers_[w];
    const bool is_there = one.has_copy() && job_.network.is_up(job_.plan.first_worker() + w);
    if (is_there && (last == nullptr || one.replica().version() < last->replica().version())) last = &one;
  }
  if (last == nullptr) last = workers_.front().get();
  return {last->replica().weights()};
}

std::vector<std::string> AllReduce::who_waits() const {
  std::vector<std::string> lines;
  for (const auto& worker : workers_) {
    if (std::string line = waits_for(job_, worker->mailbox()); !line.empty())
      lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace psim
