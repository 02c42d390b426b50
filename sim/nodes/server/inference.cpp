#include "sim/nodes/server/inference.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "model/base/random.hpp"
#include "model/dataset.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

InferenceNode::InferenceNode(JobContext& job, std::uint32_t index, const std::shared_ptr<Values>& weights,
                             InferenceStats& stats)
    : job_(job),
      spec_(job.plan.cluster().inference),
      index_(index),
      kv_(std::make_unique<ClientActor>(job, id())),
      stats_(stats),
      here_(Snapshot{}) {
  if (weights) here_->weights = std::make_shared<Assembly>(std::vector<Slice>{{weights, 0, weights->size()}});
  arrival_ = gap(0);
}

NodeId InferenceNode::id() const { return first_inference_node(job_.plan.cluster()) + index_; }

// Requests bring samples that did not influence the training, as users' requests would.
const Dataset& InferenceNode::samples() const {
  return job_.plan.split->part(job_.plan.split->reported_on());
}

void InferenceNode::crash() {
  kv_ = std::make_unique<ClientActor>(job_, id());
  here_.reset();
}

void InferenceNode::restart() { up_since_ = Agenda::now(); }

// Each node pulls once in a period; together the nodes spread their pulls over the period.
void InferenceNode::run_pulls(const std::function<void()>& on_ready) {
  Cpu& cpu = job_.cpus.of(id());
  const double period = spec_.refresh.value;
  const double first = period * (index_ + 1) / static_cast<double>(spec_.nodes);
  if (!here_) pull();
  on_ready();
  double turn = std::max(0.0, std::ceil((Agenda::now() - first) / period));
  for (;; turn = std::max(turn + 1, std::ceil((Agenda::now() - first) / period))) {
    const double date = first + turn * period;
    if (job_.plan.scenario.may_fail()) kv_->listen_until(date);
    else cpu.sleep_until(date);
    pull();
  }
}

void InferenceNode::pull() {
  kv_->pull(kv_->all_shards(), 0, ClientActor::Wanted::any);
  while (!kv_->answered(kv_->all_shards())) kv_->wait_for_message();
  ++stats_.pulls;
  Snapshot pulled{.version = kv_->least_version(), .from = kv_->oldest()};
  std::vector<Slice> parts = kv_->take_weights();
  if (job_.plan.learner != nullptr) pulled.weights = job_.assemble(std::move(parts), kv_->layout());
  here_ = std::move(pulled);
}

void InferenceNode::on_arrival(const Message& message) {
  if (!message.is<Answer>()) return;
  stats_.bytes_pulled +=
      wire_size(message.body) + static_cast<std::uint64_t>(job_.plan.cluster().network.header.value);
}

// Poisson arrivals that are distributed at random are Poisson arrivals at each node. Constant arrivals go to
// the nodes in turn.
double InferenceNode::gap(std::int64_t request) const {
  const auto nodes = static_cast<double>(spec_.nodes);
  if (spec_.arrivals == Arrivals::constant) return (request == 0 ? index_ + 1 : nodes) / spec_.rate;
  Stream stream(static_cast<std::uint64_t>(job_.plan.scenario.seed), "inference.arrival", index_,
                static_cast<std::uint64_t>(request));
  return stream.exponential() * nodes / spec_.rate;
}

void InferenceNode::next_request() {
  ++stats_.requests;
  arrival_ += gap(++request_);
}

void InferenceNode::give_up_request() {
  stats_.unanswered.push_back(arrival_);
  next_request();
}

void InferenceNode::run_answers() {
  while (PSIM_PROBE(arrival_ < up_since_, "a request came to a reader that was down")) give_up_request();
  Cpu& cpu = job_.cpus.of(id());
  const double forward = flops_per_sample(job_.plan.scenario.model) / 3;
  const double flops =
      spec_.flops_per_request.value_or(forward * static_cast<double>(spec_.samples_per_request));
  for (;; next_request()) {
    cpu.sleep_until(arrival_);
    expects(here_.has_value(), "a reader answers after its first pull");
    const Snapshot used = *here_;
    if (flops > 0) cpu.compute(flops);
    job_.recorder.causes().spends(Agenda::now(), Spent::service);
    answer(used);
  }
}

void InferenceNode::answer(const Snapshot& used) {
  const double now = Agenda::now();
  const std::int64_t staleness = job_.state.totals.most_updates() - used.version;
  job_.record(id(), Prediction{request_, used.version, staleness});
  stats_.answers.push_back(
      {.arrival = arrival_, .latency = now - arrival_, .age = now - used.from, .staleness = staleness});
  if (used.weights && samples().classes > 0) predict(used.weights);
}

void InferenceNode::predict(const std::shared_ptr<Assembly>& weights) {
  constexpr std::size_t enough = 256;
  if (weights != batch_weights_ || batch_.size() >= enough) flush();
  batch_weights_ = weights;
  Stream stream(static_cast<std::uint64_t>(job_.plan.scenario.seed), "inference.sample", index_,
                static_cast<std::uint64_t>(request_));
  for (std::int64_t i = 0; i < spec_.samples_per_request; ++i)
    batch_.push_back(static_cast<std::uint32_t>(stream.below(static_cast<std::uint64_t>(samples().size()))));
}

void InferenceNode::flush() {
  if (batch_.empty()) return;
  stats_.samples += static_cast<std::int64_t>(batch_.size());
  std::int64_t* hits = &hits_.emplace_back(0);
  tasks_.push_back(job_.pool.submit(
      [learner = job_.plan.learner.get(), &set = samples(), hits, weights = std::move(batch_weights_),
       batch = std::exchange(batch_, {})] { *hits = learner->hits(weights->get(), set, batch); }));
  // A waiting task keeps a copy of the model alive. So the number of waiting tasks stays below the number of
  // threads.
  while (tasks_.size() >= job_.pool.threads()) {
    job_.pool.wait(tasks_.front());
    tasks_.pop_front();
  }
}

void InferenceNode::finish(double end) {
  while (arrival_ <= end) give_up_request();
  flush();
  for (const Pool::Handle& task : tasks_) job_.pool.wait(task);
  tasks_.clear();
  stats_.hits += std::accumulate(hits_.begin(), hits_.end(), std::int64_t{0});
}

InferenceGroup::InferenceGroup(JobContext& job, const std::shared_ptr<Values>& weights, Actors& actors)
    : job_(job), spawner_(actors) {
  for (std::uint32_t i = 0; i < job.plan.cluster().inference.count(); ++i)
    nodes_.push_back(std::make_unique<InferenceNode>(job, i, weights, stats_));
  actors_.resize(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    spawn_pulls(i, [] {});
    spawn_answers(i);
    if (job.plan.scenario.may_fail()) begin_to_beat(nodes_[i]->id());
  }
  watch(1);
}

// SimGrid kills daemons as soon as only daemons are left, for example while all other nodes are down.
void InferenceGroup::spawn_pulls(std::size_t i, std::function<void()> on_ready) {
  InferenceNode& node = *nodes_[i];
  const bool is_daemon = !job_.plan.scenario.may_fail();
  actors_[i][0] = spawner_.spawn(node_name(job_.plan.cluster(), node.id()) + " pulls", node.id(), is_daemon,
                                 [&node, ready = std::move(on_ready)] { node.run_pulls(ready); });
}

void InferenceGroup::spawn_answers(std::size_t i) {
  InferenceNode& node = *nodes_[i];
  const bool is_daemon = !job_.plan.scenario.may_fail();
  actors_[i][1] = spawner_.spawn(node_name(job_.plan.cluster(), node.id()) + " answers", node.id(), is_daemon,
                                 [&node] { node.run_answers(); });
}

void InferenceGroup::start(NodeId node) {
  if (stopped_) return;
  const std::size_t i = index_of(node);
  nodes_[i]->restart();
  spawn_pulls(i, [this, i] { spawn_answers(i); });
  beat(node, job_.network.incarnation(node), Agenda::now());  // the answer tells who owns each shard now
}

void InferenceGroup::kill(NodeId node) {
  const std::size_t i = index_of(node);
  kill_actors(i);
  nodes_[i]->crash();
}

void InferenceGroup::kill_actors(std::size_t i) {
  for (simgrid::s4u::ActorPtr& actor : actors_[i]) {
    if (actor) actor->kill();
    actor = nullptr;
  }
}

// Requests come without end. They must not keep the clock running when workers and servers are stuck.
void InferenceGroup::watch(std::int64_t turn) {
  const double date = static_cast<double>(turn) * job_.plan.cluster().inference.refresh.value;
  job_.agenda.at(date, [this, turn] {
    if (!job_.run.is_stuck()) return watch(turn + 1);
    stopped_ = true;
    for (std::size_t i = 0; i < nodes_.size(); ++i) kill_actors(i);
  });
}

// Heartbeats of different nodes fall on different dates.
void InferenceGroup::begin_to_beat(NodeId node) {
  Stream stream(static_cast<std::uint64_t>(job_.plan.scenario.seed), "heartbeat", node, 0);
  beat(node, job_.network.incarnation(node),
       Agenda::now() + stream.uniform() * job_.plan.scenario.recovery.heartbeat.value);
}

// Heartbeats go on during this incarnation of the node.
void InferenceGroup::beat(NodeId node, std::uint32_t incarnation, double date) {
  job_.agenda.at(date, [this, node, incarnation, date] {
    if (stopped_ || !job_.network.is_up(node) || job_.network.incarnation(node) != incarnation) return;
    const Heartbeat body{.life = incarnation, .view = nodes_[index_of(node)]->view()};
    if (!job_.network.is_held(node))
      job_.network.send_once({.from = node, .to = scheduler_node, .body = body});
    if (job_.run.is_hopeless()) return;
    beat(node, incarnation, date + job_.plan.scenario.recovery.heartbeat.value);
  });
}

void InferenceGroup::on_arrival(const Message& message) { nodes_[index_of(message.to)]->on_arrival(message); }

InferenceStats InferenceGroup::finish(double end) {
  for (const auto& node : nodes_) node->finish(end);
  return std::move(stats_);
}

}  // namespace psim
