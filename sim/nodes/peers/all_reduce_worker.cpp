#include "sim/nodes/peers/all_reduce_worker.hpp"

#include <fmt/format.h>
#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "model/parameters.hpp"
#include "sim/cluster/simgrid_version.hpp"
#include "sim/nodes/job/actors.hpp"
#include "sim/nodes/job/processor.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/activations.hpp"

namespace psim {

void Strand::compute(const Block& block) {
  processor_.copy(block.copy);
  processor_.compute(block.flops, false);
}

void Strand::start(std::vector<Block> blocks, std::function<void()> ended) {
  expects(!runs_, "a node computes one step at a time");
  done_ = 0;
  runs_ = true;
  mailbox_.computes(true);
  const std::string name = fmt::format("processor of {}", node_);
  actor_ = add_actor(name, simgrid::s4u::this_actor::get_host(),
                     on_own_chain(job_.recorder, [this, blocks = std::move(blocks),
                                                  ended = std::move(ended)] { run(blocks, ended); }));
}

// An actor that waits for a block waits for messages. So each block ends with a message.
void Strand::run(const std::vector<Block>& blocks, const std::function<void()>& ended) {
  for (const Block& block : blocks) {
    compute(block);
    if (++done_ == blocks.size()) {
      runs_ = false;
      mailbox_.computes(false);
      ended();
      if (filters_) record_filter(ComputePhase::begun);
    }
    job_.network.notify({.from = node_, .to = node_, .body = Ack{}});
  }
}

void Strand::wait_for(std::size_t blocks, std::int64_t clock) {
  mailbox_.wait_until(std::nullopt, clock, [&] { return done_ >= blocks; });
}

// While the step's blocks run, the filter's work counts as part of the step.
void Strand::filter(double flops) {
  if (!(flops > 0)) return;
  filters_ = true;
  if (!runs_) record_filter(ComputePhase::begun);
  psim::compute(job_, node_, flops);
  filters_ = false;
  if (!runs_) record_filter(ComputePhase::ended);
}

void Strand::record_filter(ComputePhase phase) {
  job_.record(node_, Computation{.phase = phase, .work = Work::filter});
}

void Strand::stop() {
  if (PSIM_PROBE(std::exchange(runs_, false), "a computation beside its messages is stopped")) actor_->kill();
  actor_ = nullptr;
  filters_ = false;
  mailbox_.computes(false);
}

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
  const std::int64_t local_steps = source_.local_steps_of(clock);
  job_.record_begun(node_, Computation{.clock = clock, .version = clock},
                    flops_of_samples(job_, index_, local_steps, source_.scale()),
                    all_copies(job_, job_.plan.keys.parameters, local_steps),
                    job_.slowness.of_step(index_, clock));
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
  gradient_ = job_.state.corrupt_pushes.pushed(index_, clock_, Agenda::now(), task_.gradient());
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

namespace {

// The number of snapshots that are due until now, with this version.
std::int64_t turn_of(const Period& every, std::int64_t version) {
  return every.by_updates() ? version / every.updates
                            : static_cast<std::int64_t>(Agenda::now() / every.time.value);
}

}  // namespace

AllReduceWorker::AllReduceWorker(JobContext& job, const Peers& peers, std::uint32_t index,
                                 const Values* weights)
    : job_(job),
      peers_(peers),
      node_(job.plan.first_worker() + index),
      index_(index),
      replica_(job, weights, {0, job.plan.keys.parameters}),
      mailbox_(job, node_, true),
      step_(job, node_, mailbox_) {
  mailbox_.on_other([this](const Message& message) {
    if (const Samples* samples = message.as<Samples>()) step_.source().on(message, *samples);
    if (const Assign* assignment = message.as<Assign>()) step_.source().on(*assignment);
  });
}

void AllReduceWorker::run() {
  const Start start = enter(job_, node_, mailbox_);
  SharedView view = start.view;
  bool goes_on = start.goes_on;
  if (!goes_on && !has_copy_) begin_anew();
  for (;;) {
    try {
      const bool is_over =
          // The worker has already met the others at the end.
          regroups(view) && job_.state.progress.some_completed();
      if (!PSIM_PROBE(is_over, "a worker is back when the others have finished")) form_group(view, goes_on);
      const bool completes = is_over || train(view);
      return leave(job_, node_, clock_, mailbox_, completes);
    } catch (const NewGroup& group) {
      view = group.view;
    }
    goes_on = true;
    // This stops an actor. SimGrid then switches to other actors, so it must happen outside the catch block.
    step_.give_up();
  }
}

void AllReduceWorker::begin_anew() {
  adopt({});
  clock_ = 0;
  step_.source().skip_to(0);
}

void AllReduceWorker::lose() {
  has_copy_ = false;
  step_.strand().stop();
  step_.give_up();
  mailbox_.clear();
}

// Returns true if the worker has done all its steps, false if it leaves before.
bool AllReduceWorker::train(const SharedView& view) {
  while (clock_ < job_.plan.steps) {
    if (PSIM_PROBE(peers_.is_leaving(index_), "a worker leaves its group")) return false;
    if (PSIM_PROBE(group_.size() == 1, "one worker is left and goes on alone")) mailbox_.look();
    step_.begin(clock_, replica_);  // real numbers; spends simulated time
    for (std::size_t b = 0; b < sums_.size(); ++b) {
      step_.wait_for(b);
      sums_[b].run(clock_, replica_.weights(), step_.gradient());
    }
    update();
    ++clock_;
    take_snapshot();
  }
  // A worker that leaves causes a new group of the others. They must have done the last step before that.
  // Otherwise they would do it again without this worker.
  if (regroups(view)) meet(Round::at_end);
  return true;
}

bool AllReduceWorker::meet(Round number) {
  std::vector<NodeId> nodes;
  for (std::uint32_t rank = 0; rank < group_.size(); ++rank) nodes.push_back(node_of(rank));
  return psim::meet(mailbox_, nodes, replica_.version(), static_cast<std::int64_t>(number),
                    number == Round::after_reading);
}

// There is only one group without views, or if the job waits for lost workers.
bool AllReduceWorker::regroups(const SharedView& view) const {
  return view && job_.plan.scenario.recovery.workers != LostWorkers::wait;
}

void AllReduceWorker::form_group(const SharedView& view, bool goes_on) {
  mailbox_.join(view);
  group_view_ = view ? view->number : 0;
  std::vector<std::uint32_t>& members = group_.members;
  members.clear();
  const LostWorkers lost = job_.plan.scenario.recovery.workers;
  const bool waits = !regroups(view);
  for (std::uint32_t w = 0; w < job_.plan.workers(); ++w) {
    if (waits || view->workers[w]) members.push_back(w);
  }
  std::ranges::sort(members, {},
                    [&spec = job_.plan.scenario.architecture](std::uint32_t w) { return spec.rank_of(w); });
  const auto me = std::ranges::find(members, index_);
  if (me == members.end() || (waits && !has_copy_) || (lost == LostWorkers::restart && !is_whole(job_, view)))
    mailbox_.await_group();
  group_.rank = static_cast<std::uint32_t>(me - members.begin());
  expects(group_.rank < group_.size(), "a worker is a member of its group");
  make_sums();
  const bool agrees = goes_on && !waits;
  if (agrees) agree();
  if (agrees) clock_ = replica_.version();
  step_.join(members, view, clock_, agrees);
}

void AllReduceWorker::make_sums() {
  sums_.clear();
  for (const Bucket& bucket : step_.buckets()) {
    const auto number = static_cast<std::int64_t>(sums_.size());
    sums_.emplace_back(job_, mailbox_, step_.strand(), group_, bucket.range,
                       number * Reduction::rounds_of(group_));
  }
}

// A view may lack a worker that has not heard of it yet. This worker may have used the others' last messages
// for a step that they then did again without it. So of two copies the one from the newer group counts, and
// within one group the newer version.
void AllReduceWorker::agree() {
  Regroup all;
  const Standing own{.version = has_copy_ ? replica_.version() : -1, .made_in = has_copy_ ? made_in_ : -1};
  if (group_.rank > 0) {
    mailbox_.send(node_of(0), Standing(own));
    all = *mailbox_.take(MessageKind::regroup, node_of(0), 0, 0).as<Regroup>();
  } else {
    using Made = std::pair<std::int64_t, std::int64_t>;  // view of the group, and version
    std::vector<Made> copies{{own.made_in, own.version}};
    for (std::uint32_t rank = 1; rank < group_.members.size(); ++rank) {
      const Message message = mailbox_.take(MessageKind::standing, node_of(rank), 0, 0);
      copies.emplace_back(message.as<Standing>()->made_in, message.as<Standing>()->version);
    }
    const auto newest = std::ranges::max_element(copies);
    PSIM_PROBE(newest != copies.begin(), "the first worker of a group is behind");
    PSIM_PROBE(newest->second < 0, "no worker of a group has a copy");
    PSIM_PROBE(copies.back().first != newest->first && copies.back().first >= 0, "copies of two groups meet");
    const bool is_one_lost = std::ranges::find(copies, -1, &Made::second) != copies.end();
    const bool restarts = job_.plan.scenario.recovery.workers == LostWorkers::restart;
    all.version = restarts && is_one_lost ? -1 : std::max<std::int64_t>(newest->second, 0);
    all.made_in = std::max<std::int64_t>(newest->first, 0);
    all.holder = node_of(static_cast<std::uint32_t>(newest - copies.begin()));
    for (std::uint32_t rank = 0; rank < group_.members.size(); ++rank) {
      if (copies[rank] != *newest) all.behind.push_back(node_of(rank));
    }
    for (std::uint32_t rank = 1; rank < group_.members.size(); ++rank)
      mailbox_.send(node_of(rank), Regroup(all));
  }
  made_in_ = all.made_in;
  if (PSIM_PROBE(all.version < 0, "a lost copy sends all workers to the snapshot")) return read_snapshot();
  if (!has_copy_ && all.behind.empty()) adopt({});  // no worker has more than the first weights
  for (const NodeId node : all.behind) {
    if (PSIM_PROBE(node_ == all.holder, "a worker gives its copy to others")) mailbox_.send(node, copy());
    if (node_ == node) adopt(*mailbox_.take(MessageKind::state, all.holder, 0, 0).as<State>());
  }
}

void AllReduceWorker::read_snapshot() {
  if (PSIM_PROBE(!job_.plan.scenario.snapshot.every, "a group without snapshots begins anew")) {
    adopt({});
    return;
  }
  mailbox_.send(job_.plan.snapshot_node(), Restore{});
  adopt(*mailbox_.take_any(MessageKind::state, job_.plan.snapshot_node()).as<State>());
  if (!meet(Round::after_reading)) adopt({});
}

void AllReduceWorker::adopt(const State& state) {
  expects(state.version >= 0, "a copy has a version");
  replica_.adopt(state);
  step_.forget();
  has_copy_ = true;
  const std::optional<Period>& every = job_.plan.scenario.snapshot.every;
  if (every && every->by_updates()) snapshots_ = turn_of(*every, replica_.version());
  job_.observer.on_version();
}

State AllReduceWorker::copy() const {
  return {
      .version = replica_.version(), .entries = 0, .replica = replica_.content(), .bytes = replica_.bytes()};
}

// The copy of the first worker stands for all. Every worker counts the snapshots, because another worker may
// be the first one next.
void AllReduceWorker::take_snapshot() {
  const std::optional<Period>& every = job_.plan.scenario.snapshot.every;
  if (!every) return;
  const std::int64_t turn = turn_of(*every, replica_.version());
  const bool is_due = turn > std::exchange(snapshots_, turn);
  if (!is_due || group_.rank > 0) return;
  job_.network.send({.from = node_, .to = job_.plan.snapshot_node(), .body = copy()});
}

void AllReduceWorker::update() {
  replica_.update({step_.gradient(), 0, job_.plan.keys.parameters}, step_.weight_of_sum());
  step_.finish();
  made_in_ = group_view_;
  job_.record(node_, ModelUpdate{.version = replica_.version()});
  job_.observer.on_version();
}

AllReduce::AllReduce(JobContext& job, const Values* weights) : Peers(job.plan.workers()), job_(job) {
  for (std::uint32_t w = 0; w < job.plan.workers(); ++w)
    workers_.push_back(std::make_unique<AllReduceWorker>(job, *this, w, weights));
}

void AllReduce::lose(std::uint32_t index) {
  stays(index);
  workers_[index]->lose();
}

void AllReduce::on_arrival(const Message& message) {
  if (job_.plan.is_worker(message.from))
    workers_[message.from - job_.plan.first_worker()]->mailbox().arrived(message);
}

// The newest copy that all members have reached. All copies of a version are equal. A worker that is down has
// no copy. A worker that is more than one update behind the newest copy has not joined yet, or has dropped
// out.
const Replica& AllReduce::common() const {
  std::vector<const Replica*> copies;
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    const bool is_there =
        job_.network.is_up(job_.plan.first_worker() + w) && !job_.state.progress.has_left(w);
    if (workers_[w]->has_copy() && is_there) copies.push_back(&workers_[w]->replica());
  }
  if (copies.empty()) return workers_.front()->replica();
  const std::int64_t newest = (*std::ranges::max_element(copies, {}, &Replica::version))->version();
  std::erase_if(copies, [newest](const Replica* copy) { return copy->version() + 1 < newest; });
  return **std::ranges::min_element(copies, {}, &Replica::version);
}

// Compares the copies that one group made. A worker that was suspected at the end may have done the last step
// in another group.
bool AllReduce::agree() const {
  std::map<std::int64_t, const Values*> first;  // by the view of the group
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    const AllReduceWorker& one = *workers_[w];
    if (!job_.state.progress.has_completed(w) || !one.has_copy() || one.replica().version() < job_.plan.steps)
      continue;
    const Values* weights = one.replica().weights().values.get();
    const Values* others = first.try_emplace(one.made_in(), weights).first->second;
    if (weights != nullptr && std::memcmp(others->raw(), weights->raw(), others->bytes()) != 0) return false;
  }
  return true;
}

std::vector<std::string> AllReduce::who_waits() const {
  std::vector<std::string> lines;
  for (const auto& worker : workers_) {
    if (std::string line = waits_for(job_, worker->mailbox()); !line.empty())
      lines.push_back(std::move(line));
  }
  return lines;
}

Reduction::Reduction(JobContext& job, Mailbox& mailbox, Strand& strand, const PeerGroup& group, Range range,
                     std::int64_t first_round)
    : job_(job),
      mailbox_(mailbox),
      strand_(strand),
      group_(group),
      range_(range),
      first_round_(first_round),
      filters_(filters_on(job.plan.scenario.filters, true)),
      gathers_(std::ranges::any_of(
          filters_, [](const FilterSpec& filter) { return static_cast<bool>(filter.kind->select); })) {
  const AllReduceAlgorithm algorithm = job.plan.scenario.architecture.algorithm;
  rounds_ = gathers_ ? gathering(algorithm, group.size(), group.rank)
                     : exchanges(algorithm, group.size(), group.rank);
  chunks_ = chunk_count(algorithm, group.size());
  first_whole_ =
      static_cast<std::size_t>(std::ranges::find(rounds_, false, &Exchange::reduces) - rounds_.begin());
  if (filters_.empty()) return;
  coded_.resize(chunks_);
  chains_.resize(rounds_.size());
  if (gathers_) {
    whole_ = chain_of(range);
    return;
  }
  for (std::size_t i = 0; i < first_whole_; ++i) {
    if (rounds_[i].send) chains_[i] = chain_of(range_of(rounds_[i].send->chunks));
  }
  const bool has_first = first_whole_ < rounds_.size() && rounds_[first_whole_].send;
  if (has_first) whole_ = chain_of(range_of(rounds_[first_whole_].send->chunks));
}

Range Reduction::range_of(Chunks chunks) const {
  const Range part = psim::range_of(chunks, range_.count, chunks_);
  return {range_.begin + part.begin, part.count};
}

std::unique_ptr<FilterChain> Reduction::chain_of(Range range) const {
  return std::make_unique<FilterChain>(
      FilterChain::Options{.filters = filters_,
                           .precision = job_.plan.precision(),
                           .count = range.count,
                           .first_key = range.begin,
                           .seed = static_cast<std::uint64_t>(job_.plan.scenario.seed),
                           .sender = mailbox_.node(),
                           .scale = job_.plan.loss_scale(),
                           .buffers = job_.state.filter_buffers});
}

void Reduction::run(std::int64_t clock, const Slice& weights, const std::shared_ptr<Values>& gradient) {
  if (group_.size() == 1) return;
  clock_ = clock;
  weights_ = weights;
  gradient_ = gradient;
  if (gathers_) gather();
  else
    for (std::size_t i = 0; i < rounds_.size(); ++i) exchange(i);
  gradient_.reset();
  weights_ = {};
}

Payload Reduction::coded(FilterChain* chain, Range range) {
  const Slice values{gradient_, range.begin, range.count};
  if (chain == nullptr) return {.values = values, .bytes = plain_bytes(range)};
  Slice weights = weights_;
  if (weights.values) weights = {weights.values, weights.begin + range.begin, range.count};
  Encoded encoded = chain->encode(values, {}, weights, job_.plan.scenario.training.optimizer.l1);
  strand_.filter(encoded.flops);
  return payload_of(std::move(encoded));
}

void Reduction::send(NodeId to, std::int64_t round, Payload sum,
                     std::shared_ptr<const std::vector<Payload>> gradients) {
  mailbox_.send(to, Chunk{.clock = clock_,
                          .version = clock_,
                          .round = first_round_ + round,
                          .sum = std::move(sum),
                          .gradients = std::move(gradients)});
}

// A worker sends and receives at the same time, and continues when both are done. The sent values need no
// copy: only a sum that depends on the receiver's reading changes them, so they change after the receiver has
// read them.
void Reduction::exchange(std::size_t number) {
  const Exchange& round = rounds_[number];
  if (round.send) {
    const Chunks chunks = round.send->chunks;
    if (number == first_whole_ && whole_) code_sum(chunks);
    const NodeId to = node_of(round.send->worker);
    if (round.reduces)
      send(to, round.round, coded(chains_.empty() ? nullptr : chains_[number].get(), range_of(chunks)));
    else send(to, round.round, whole_sum(chunks));
  }
  if (round.receive) {
    const Message message =
        mailbox_.take(MessageKind::chunk, node_of(round.receive->worker), clock_, first_round_ + round.round);
    receive(round, message.as<Chunk>()->sum);
  }
  mailbox_.flush();
}

Payload Reduction::whole_sum(Chunks chunks) const {
  const Range range = range_of(chunks);
  const auto first = coded_.begin() + chunks.first, last = coded_.begin() + chunks.last;
  return {.values = {gradient_, range.begin, range.count},
          .bytes = coded_.empty() ? plain_bytes(range) : std::accumulate(first, last, std::uint64_t{0})};
}

// This worker must have the same values that the others will read.
void Reduction::code_sum(Chunks own) {
  const Range range = range_of(own);
  const Payload sum = coded(whole_.get(), range);
  note_bytes(own, sum.bytes);
  if (gradient_ && sum.values.values != gradient_)
    gradient_->copy_from(*sum.values.values, sum.values.begin, sum.values.count, range.begin);
}

void Reduction::note_bytes(Chunks chunks, std::uint64_t bytes) {
  if (coded_.empty()) return;
  for (std::uint32_t c = chunks.first; c < chunks.last; ++c) coded_[c] = c == chunks.first ? bytes : 0;
}

void Reduction::receive(const Exchange& round, const Payload& sum) {
  const Slice& part = sum.values;
  const std::size_t begin = range_of(round.receive->chunks).begin;
  expects(part.count == range_of(round.receive->chunks).count, "a message has its round's values");
  if (!round.reduces) note_bytes(round.receive->chunks, sum.bytes);
  if (!gradient_) return;
  if (round.reduces) add(part, begin);
  else gradient_->copy_from(*part.values, part.begin, part.count, begin);
}

// Sums are sent on, so they are rounded like all sent values.
void Reduction::add(const Slice& part, std::size_t begin) {
  with_scalar(gradient_->precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto from = part.as<Scalar>();
    const auto into = gradient_->as<Scalar>().subspan(begin, part.count);
    const auto is_finite = [](Scalar x) { return std::isfinite(x); };
    const bool rounds = !gathers_ && is_half(job_.plan.precision());
    const bool was_finite =
        rounds && std::ranges::all_of(from, is_finite) && std::ranges::all_of(into, is_finite);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
    if (rounds) round_to(job_.plan.precision(), into, job_.plan.loss_scale());
    if (was_finite && !std::ranges::all_of(into, is_finite)) job_.state.totals.overflow_of_sum();
  });
}

void Reduction::gather() {
  std::vector<Payload> gradients(group_.size());
  gradients[group_.rank] = coded(whole_.get(), range_);
  for (const Exchange& round : rounds_) {
    if (round.send) {
      const auto first = gradients.begin() + round.send->chunks.first;
      const auto last = gradients.begin() + round.send->chunks.last;
      Payload all;
      for (auto one = first; one != last; ++one) {
        all.values.count += one->values.count;
        all.bytes += one->bytes;
      }
      send(node_of(round.send->worker), round.round, all,
           std::make_shared<const std::vector<Payload>>(first, last));
    }
    if (round.receive) {
      const Message message = mailbox_.take(MessageKind::chunk, node_of(round.receive->worker), clock_,
                                            first_round_ + round.round);
      std::ranges::copy(*message.as<Chunk>()->gradients, gradients.begin() + round.receive->chunks.first);
    }
    mailbox_.flush();
  }
  if (!gradient_) return;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    const Slice& one = gradients[rank].values;
    if (rank == 0) gradient_->copy_from(*one.values, one.begin, one.count, range_.begin);
    else add(one, range_.begin);
  }
}

}  // namespace psim
