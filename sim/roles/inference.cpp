#include "sim/roles/inference.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "model/mutant.hpp"
#include "model/random.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

InferenceNode::InferenceNode(JobContext& job, std::uint32_t index, const std::shared_ptr<Values>& weights,
                             InferenceStats& stats)
    : job_(job),
      spec_(job.plan.scenario.cluster.inference),
      index_(index),
      kv_(job, first_inference_node(job.plan.scenario.cluster) + index),
      stats_(stats) {
  if (weights) here_.weights = std::make_shared<Assembly>(std::vector<Slice>{{weights, 0, weights->size()}});
  arrival_ = gap(0);
}

NodeId InferenceNode::id() const { return first_inference_node(job_.plan.scenario.cluster) + index_; }

// Requests bring samples that nothing was decided by, as those of users would be.
const Dataset& InferenceNode::samples() const {
  return job_.plan.split->part(job_.plan.split->reported_on());
}

// Each node pulls once in a period; together they spread their pulls over it.
void InferenceNode::run_pulls() {
  const double period = spec_.refresh.value;
  const double first =
      mutant("all-pull-at-once") ? period : period * (index_ + 1) / static_cast<double>(spec_.nodes);
  for (double turn = 0;; turn = std::max(turn + 1, std::ceil((Agenda::now() - first) / period))) {
    simgrid::s4u::this_actor::sleep_until(first + turn * period);
    oldest_ = HUGE_VAL;
    kv_.pull(kv_.all_shards(), 0, KvClient::Wanted::any);
    while (!kv_.answered(kv_.all_shards())) kv_.wait_for_message();
    ++stats_.pulls;
    here_ = {.version = kv_.least_version(), .from = oldest_};
    std::vector<Slice> parts = kv_.take_weights();
    if (job_.plan.learner != nullptr) here_.weights = job_.assemble(std::move(parts), kv_.layout());
  }
}

void InferenceNode::on_arrival(const Message& message) {
  stats_.bytes_pulled +=
      wire_size(message.body) + static_cast<std::uint64_t>(job_.plan.scenario.cluster.network.header.value);
  if (const Answer* answer = message.as<Answer>()) oldest_ = std::min(oldest_, answer->sent_at);
}

// Poisson arrivals that are dealt out by chance are Poisson arrivals at each node; constant ones are dealt
// out in turn.
double InferenceNode::gap(std::int64_t request) const {
  const auto nodes = static_cast<double>(spec_.nodes);
  if (spec_.arrivals == Arrivals::constant) return (request == 0 ? index_ + 1 : nodes) / spec_.rate;
  Stream stream(static_cast<std::uint64_t>(job_.plan.scenario.seed), "inference.arrival", index_,
                static_cast<std::uint64_t>(request));
  return stream.exponential() * (mutant("every-node-gets-all-requests") ? 1 : nodes) / spec_.rate;
}

void InferenceNode::next_request() {
  ++stats_.requests;
  arrival_ += gap(++request_);
}

void InferenceNode::run_answers() {
  const double forward = flops_per_sample(job_.plan.scenario.model) / 3;
  const double flops =
      spec_.flops_per_request.value_or(forward * static_cast<double>(spec_.samples_per_request));
  for (;; next_request()) {
    if (Agenda::now() < arrival_) simgrid::s4u::this_actor::sleep_until(arrival_);
    const Snapshot used = here_;
    if (flops > 0) simgrid::s4u::this_actor::execute(flops);
    answer(used);
  }
}

void InferenceNode::answer(const Snapshot& used) {
  const double now = Agenda::now();
  const std::int64_t staleness = job_.recorder.stats().updates() - used.version;
  job_.record(id(), Prediction{request_, used.version, staleness});
  stats_.latencies.push_back(now - arrival_);
  stats_.staleness_sum += static_cast<double>(staleness);
  stats_.staleness_max = std::max(stats_.staleness_max, staleness);
  stats_.age_sum += now - used.from;
  stats_.age_max = std::max(stats_.age_max, now - used.from);
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
  // A task keeps a copy of the model alive, so no more wait than there are threads beside this one.
  while (tasks_.size() >= job_.pool.threads()) {
    job_.pool.wait(tasks_.front());
    tasks_.pop_front();
  }
}

void InferenceNode::finish(double end) {
  while (arrival_ <= end) next_request();
  flush();
  for (const Pool::Handle& task : tasks_) job_.pool.wait(task);
  tasks_.clear();
  stats_.hits += std::accumulate(hits_.begin(), hits_.end(), std::int64_t{0});
}

InferenceGroup::InferenceGroup(JobContext& job, const std::shared_ptr<Values>& weights, Actors& actors)
    : job_(job) {
  for (std::uint32_t i = 0; i < job.plan.scenario.cluster.inference.count(); ++i)
    nodes_.push_back(std::make_unique<InferenceNode>(job, i, weights, stats_));
  for (const auto& node : nodes_) {
    const std::string name = node_name(job.plan.scenario.cluster, node->id());
    actors_.push_back(actors.spawn(name + " pulls", node->id(), true, [&node] { node->run_pulls(); }));
    actors_.push_back(actors.spawn(name + " answers", node->id(), true, [&node] { node->run_answers(); }));
  }
  watch(1);
}

// Requests come for ever; when workers and servers are stuck, they must not keep the clock running.
void InferenceGroup::watch(std::int64_t turn) {
  const double date = static_cast<double>(turn) * job_.plan.scenario.cluster.inference.refresh.value;
  job_.agenda.at(date, [this, turn] {
    if (!job_.observer.watch().is_stuck()) return watch(turn + 1);
    for (const simgrid::s4u::ActorPtr& actor : actors_) actor->kill();
  });
}

void InferenceGroup::on_arrival(const Message& message) {
  if (message.to >= nodes_.front()->id()) nodes_[message.to - nodes_.front()->id()]->on_arrival(message);
}

InferenceStats InferenceGroup::finish(double end) {
  for (const auto& node : nodes_) node->finish(end);
  return std::move(stats_);
}

}  // namespace psim
