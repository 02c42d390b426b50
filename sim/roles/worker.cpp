#include "sim/roles/worker.hpp"

#include <simgrid/Exception.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "model/rounding.hpp"
#include "sim/roles/scheduler.hpp"
#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/pace.hpp"

namespace psim {

Worker::Worker(World& world, NodeId node, bool back)
    : world_(world),
      node_(node),
      index_(node - world.first_worker()),
      kv_(world, node),
      phases_(phases_of(world)),
      last_forward_(phases_.size() == 1 ? 0 : phases_.size() / 2 - 1),
      source_(world, node),
      back_(back) {
  if (world.steals()) sharing_ = std::make_unique<WorkSharing>(world, node, kv_);
  kv_.on_other([this](const Message& message) {
    if (const Piece* piece = message.as<Piece>()) sharing_->on(message.from, *piece);
    else if (const Idle* idle = message.as<Idle>()) sharing_->on(message.from, *idle);
    else if (const Assign* assignment = message.as<Assign>()) source_.on(*assignment);
    else if (const Samples* samples = message.as<Samples>()) source_.on(*samples);
  });
}

// A gradient that nobody wants any more may still be on its way.
Worker::~Worker() {
  if (task_) world_.pool.abandon(task_);
}

std::vector<Worker::Phase> Worker::phases_of(const World& world) {
  ShardIds all;
  for (std::uint32_t s = 0; s < world.keys.shards.size(); ++s) all.push_back(s);
  const auto copies = [&world](const ShardIds& shards) {  // of their weights, or of their gradients
    std::size_t values = 0;
    for (const std::uint32_t s : shards) values += world.keys.shards[s].count;
    const auto bytes = static_cast<double>(values * bytes_per_value(world.precision()));
    return values > 0 ? device_copies(world.scenario.cluster.worker_devices, bytes).seconds : 0;
  };
  const double both = (mutant("only-weights-are-copied") ? 1 : 2) * copies(all);
  if (world.elastic()) return {{1.0, all, {}, both}};  // what is pushed is known before the step
  if (!world.scenario.messages.overlap) return {{1.0, all, all, both}};
  const std::vector<LayerWork> work = layer_work(world.scenario.model);
  std::vector<ShardIds> of_layer(work.size());
  for (const std::uint32_t s : all) of_layer[world.keys.shards[s].layer].push_back(s);
  std::vector<Phase> phases;
  for (std::size_t l = 0; l < work.size(); ++l)
    phases.push_back({work[l].forward, of_layer[l], {}, copies(of_layer[l])});
  for (std::size_t l = work.size(); l-- > 0;)
    phases.push_back({work[l].backward, {}, of_layer[l], copies(of_layer[l])});
  return phases;
}

void Worker::run() {
  if (const Start start = join(world_, node_); start.view) kv_.on_view(start.view);
  if (back_) go_on();
  bool completes = false;
  while (!(completes = !pull())) {  // waits as long as the consistency model says
    if (sharing_) compute_shared();
    if (sharing_ || compute()) kv_.wait(last_push_);
    if (leaves_) break;
  }
  (completes ? world_.completed : world_.left_early)[index_] = true;
  world_.record(EventKind::finish, node_, clock_, 0, 0, completes ? 0 : left_by_itself);
  world_.last_finish = Agenda::now();
  through_ = true;
  // Where late pushes count, those that a crash undoes are lost, and nobody needs them again.
  stays_ = kv_.all_finished() && world_.rule.fresh && world_.scenario.may_fail();
  leave(world_, node_);
  if (!stays_) return;
  while (kv_.all_finished() || !kv_.answered(kv_.all_shards())) kv_.wait_for_message();
  is_needed_ = true;
}

// A pull for the next version, whose answer stops this computation. The next batch of a sparse model needs
// other weights, which are not known yet: that pull asks for none.
void Worker::watch_for_newer() {
  if (keys_) kv_.use_keys(std::make_shared<const BatchKeys>(split({}, world_.keys)));
  kv_.pull(kv_.all_shards(), clock_, KvClient::Wanted::next);
  if (keys_) kv_.use_keys(keys_);
}

// Shards that have given a version already, but no weights, or those of the last step's keys: any version
// will do. They are taken out of `wanted`.
void Worker::pull_announced(ShardIds& wanted) {
  ShardIds announced;
  const auto is_announced = [this](std::uint32_t s) { return kv_.unused(s); };
  std::ranges::copy_if(wanted, std::back_inserter(announced), is_announced);
  kv_.pull(announced, clock_, KvClient::Wanted::any);
  std::erase_if(wanted, is_announced);
}

// After a crash: where the servers are, with the batches that would have been next.
void Worker::go_on() {
  steps_begun_ = clock_ = kv_.resume();
  ahead_ = kv_.ahead();
  source_.skip_to(steps_begun_ + (mutant("returns-a-batch-ahead") ? 1 : 0));
  has_copy_ = false;
  if (world_.learner == nullptr || !world_.learner->sparse() || steps_begun_ >= world_.steps) return;
  pull_other_keys();
}

// Which batch is next is known only now, so what is here are not the weights of its keys.
void Worker::pull_other_keys() {
  choose_keys();
  kv_.wait(kv_.pull(kv_.all_shards(), clock_, KvClient::Wanted::any));
}

// The others have gone on without this worker: it takes the clock that they are at.
void Worker::catch_up() {
  steps_begun_ += kv_.ahead() - ahead_;
  ahead_ = kv_.ahead();
  source_.skip_to(steps_begun_);
  has_copy_ = false;
}

bool Worker::pull() {
  if (is_behind()) catch_up();
  if (world_.scenario.recovery.data == LostData::reassign) source_.share_out_among(kv_.members());
  source_.ask_ahead(steps_begun_);
  if (world_.learner != nullptr && world_.learner->sparse() && may_begin()) choose_keys();
  if (goes_on_alone()) {
    clock_ = steps_begun_;
    return true;
  }
  const bool newer_only = world_.rule.gate == Gate::version;
  clock_ = world_.rule.fresh ? kv_.least_version() + 1 : steps_begun_;
  ShardIds wanted = kv_.all_shards();
  // A pull that was sent ahead, to hear of a newer version, does if only a newer version will do; its answer
  // may have come while the worker waited for acknowledgements.
  if (newer_only && keys_) pull_announced(wanted);
  else if (newer_only)
    std::erase_if(wanted, [this](std::uint32_t s) { return kv_.outstanding(s) || kv_.unused(s); });
  kv_.pull(wanted, clock_, newer_only ? KvClient::Wanted::newer : KvClient::Wanted::any);
  await(phases_.front().needs);
  if (is_behind()) return pull();
  const bool over = is_over();
  if (over) wait_for_all();
  if (!over && keys_ && keys_of_ != steps_begun_) {  // what seemed to be the end: a shard was set back
    pull_other_keys();
    return pull();
  }
  if (world_.rule.fresh) clock_ = over ? world_.steps : std::min(world_.steps, kv_.least_version_here());
  return !over;
}

// Whether there may be another step. Where pushes may come too late there can be more of them than updates.
bool Worker::may_begin() const {
  if (!world_.rule.fresh) return steps_begun_ < world_.steps;
  return kv_.least_version() + (world_.rule.gate == Gate::version ? 1 : 0) < world_.steps;
}

// Worker and centre move towards each other: the centre at once, the worker with its next step.
void Worker::pull_to_centre() {
  const TrainingSpec& training = world_.scenario.training;
  std::shared_ptr<Values> spring;
  if (world_.learner != nullptr) {
    const std::shared_ptr<Assembly> centre = world_.assemble(kv_.take_weights());
    const double alpha = training.elastic_rate.value_or(0.9 / static_cast<double>(world_.workers()));
    spring = elastic_step(centre->get(), alpha, local_);
    round_to(world_.precision(), *spring);
  }
  last_push_ = kv_.push(kv_.all_shards(), clock_, spring, world_.scenario.training.batch_size);
}

// Between two pulls, on its own copy of the weights.
bool Worker::goes_on_alone() const {
  return has_copy_ && steps_begun_ % world_.scenario.training.pull_every != 0 && steps_begun_ < world_.steps;
}

void Worker::await(const ShardIds& shards) {
  while (!kv_.answered(shards)) kv_.wait_for_message();
}

// Where all servers apply the same pushes, one that is through needs no more, and then no other does: each
// has, or will have, those that the last update takes. Where each server forms groups of its own, another
// may still need pushes.
bool Worker::is_over() const { return world_.rule.servers_apart ? kv_.all_finished() : kv_.any_finished(); }

// What is left is to wait until all are through.
void Worker::wait_for_all() {
  while (!kv_.all_finished()) {
    ShardIds wanted = kv_.all_shards();
    std::erase_if(wanted, [this](std::uint32_t s) { return kv_.finished(s) || kv_.outstanding(s); });
    kv_.pull(wanted, clock_, KvClient::Wanted::newer);
    kv_.wait_for_message();
  }
}

bool Worker::compute() {
  while (!source_.prepare(steps_begun_)) kv_.wait_for_message();
  if (world_.rule.cancel) watch_for_newer();
  if (world_.elastic()) pull_to_centre();
  batch_size_ = source_.batch_size();
  seconds_ = 0;
  const double flops = flops_of_step();
  const auto times_copied = static_cast<double>(world_.scenario.training.local_steps_of(steps_begun_));
  world_.record(EventKind::compute_begin, node_, clock_, kv_.version(0));
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    const Phase& phase = phases_[p];
    // The first phase's are here; but one whose owner has changed since may have been asked for again.
    const ShardIds& needs = p == last_forward_ ? kv_.all_shards() : phase.needs;
    if (p > 0 && !kv_.answered(needs)) {
      world_.record(EventKind::compute_pause, node_, clock_);
      await(needs);
      if (world_.rule.fresh) clock_ = std::min(world_.steps, kv_.least_version_here());
      world_.record(EventKind::compute_resume, node_, clock_);
    }
    if (p == last_forward_) start_gradient();
    if (!copy(times_copied * phase.copies) || !execute(flops * phase.share)) {
      world_.record(EventKind::compute_cancel, node_, clock_, kv_.version(0));
      return false;
    }
    const bool last = p + 1 == phases_.size();
    if (task_ && (last || !phase.pushes.empty())) world_.pool.wait(task_);
    if (last) {
      world_.record_computed(EventKind::compute_end, node_, clock_, kv_.version(0), source_.in_hand());
      source_.computed(seconds_);
    }
    push(phase.pushes);
  }
  task_ = nullptr;
  gradient_.reset();
  return true;
}

// With work stealing: whoever is through stops the computation for as long as it takes to give it a piece.
void Worker::compute_shared() {
  while (!source_.prepare(steps_begun_)) kv_.wait_for_message();
  batch_size_ = source_.batch_size();
  const double own = flops_of_samples() * world_.slowness.of_step(index_, steps_begun_);
  const double flops_per_sample = own / static_cast<double>(batch_size_);
  const double own_update = flops_of_step() - own;
  ++steps_begun_;
  kv_.use_all();
  std::vector<std::vector<Batch>> batches = source_.take();
  std::shared_ptr<Assembly> weights;
  if (world_.learner != nullptr) weights = world_.assemble(kv_.take_weights());
  world_.record(EventKind::compute_begin, node_, clock_, kv_.version(0));
  seconds_ = 0;
  copy(phases_.front().copies);
  if (own_update > 0) execute(own_update, false);
  sharing_->begin(clock_, batches.front().empty() ? Batch{} : std::move(batches.front().front()),
                  std::move(weights), flops_per_sample);
  left_ = own;
  do {
    while (world_.network.has_mail(node_)) kv_.wait_for_message();
    if (flops_per_sample > 0) left_ = sharing_->give(left_ / flops_per_sample) * flops_per_sample;
  } while (!execute(left_));
  const std::int64_t given_away = batch_size_ - sharing_->own();
  world_.record_computed(EventKind::compute_end, node_, clock_, kv_.version(0),
                         source_.in_hand() - given_away);
  source_.computed(seconds_, given_away);
  last_push_ = sharing_->finish();
}

// Between host and devices, on the bus: however slow the machine is. False when a newer version has come
// meanwhile that makes the step pointless; a copy in hand is finished.
bool Worker::copy(double seconds) {
  constexpr double shortest = 1e-9;  // that SimGrid sleeps
  if (seconds < shortest) return true;
  const World::Busy busy(world_, node_);
  is_copying_ = true;
  is_stopped_ = false;
  simgrid::s4u::this_actor::sleep_for(seconds);
  is_copying_ = false;
  seconds_ += seconds;
  if (is_stopped_ && task_) world_.pool.cancel(task_);
  return !is_stopped_;
}

// False when it was stopped: by a newer version, if that is the rule, or by a helper.
bool Worker::execute(double flops, bool may_stop) {
  const simgrid::s4u::ExecPtr exec = simgrid::s4u::this_actor::exec_async(flops);
  computing_ = may_stop && (world_.rule.cancel || sharing_) ? exec : nullptr;
  const World::Busy busy(world_, node_);
  const double begin = Agenda::now();
  bool kept = true;
  try {
    exec->wait();
  } catch (const simgrid::CancelException&) {
    kept = false;
    if (task_) world_.pool.cancel(task_);
  }
  seconds_ += Agenda::now() - begin;
  computing_ = nullptr;
  return kept;
}

void Worker::push(const ShardIds& shards) {
  if (shards.empty()) return;
  const auto parameters = static_cast<std::int64_t>(world_.keys.parameters);
  const std::int64_t blocks = world_.scenario.training.feature_blocks;
  last_push_ = kv_.push(shards, clock_, gradient_, batch_size_,
                        blocks > 1 ? feature_block(parameters, blocks, clock_) : KeyRange{});
}

void Worker::on_arrival(const Message& message) {
  is_stopped_ = is_stopped_ || (is_copying_ && world_.rule.cancel && kv_.is_expected(message));
  if (!computing_ || !(sharing_ ? sharing_->is_request(message) : kv_.is_expected(message))) return;
  if (sharing_) left_ = computing_->get_remaining();
  std::exchange(computing_, nullptr)->cancel();
}

double Worker::flops_of_samples() const {
  const Scenario& scenario = world_.scenario;
  double mean = mean_step_seconds(scenario, index_) * scenario.cluster.worker.speed.of(index_).value;
  const TrainingSpec& training = scenario.training;
  mean *=
      static_cast<double>(training.local_steps_of(steps_begun_)) / static_cast<double>(training.local_steps);
  return mean * source_.scale();
}

double Worker::flops_of_step() const {
  double mean = flops_of_samples();
  if (world_.workers_update() && !mutant("workers-update-for-nothing"))
    mean += world_.scenario.cluster.worker.flops_per_value * static_cast<double>(world_.keys.parameters);
  return mean * world_.slowness.of_step(index_, steps_begun_);
}

// A sparse model pulls only what its next batches need.
void Worker::choose_keys() {
  keys_of_ = steps_begun_;
  while (!source_.prepare(steps_begun_)) kv_.wait_for_message();
  Batch samples;
  for (const std::vector<Batch>& batches : source_.batches()) {
    for (const Batch& batch : batches) samples.insert(samples.end(), batch.begin(), batch.end());
  }
  keys_ = std::make_shared<const BatchKeys>(split(world_.learner->keys(samples), world_.keys));
  kv_.use_keys(keys_);
}

// The gradient depends on the pulled weights and the batches alone, so a thread may compute it at any time
// before simulated time has passed.
void Worker::start_gradient() {
  const bool alone = goes_on_alone();
  ++steps_begun_;
  has_copy_ = true;
  kv_.use_all();
  LocalWork work{.batches = source_.take(),
                 .keys = keys_,
                 .devices = world_.scenario.cluster.worker_devices.count,
                 .keep = world_.elastic() || world_.scenario.training.pull_every > 1};
  if (world_.learner == nullptr) return;
  if (work.keys) world_.keys_used[index_] += work.keys->keys.size();
  work.rate = world_.learning_rate().at(world_.epochs().after(static_cast<double>(clock_)));
  std::shared_ptr<Assembly> weights;
  if (!alone && !world_.elastic()) {
    weights = work.keys ? std::make_shared<Assembly>(kv_.take_weights(), &work.keys->places)
                        : world_.assemble(kv_.take_weights());
    local_.weights = nullptr;
  }
  gradient_ = std::make_shared<Values>();
  task_ = world_.pool.submit(
      [this, weights, learner = world_.learner, result = gradient_, work = std::move(work)] {
        *result = local_gradient(*learner, weights.get(), work, local_);
        round_to(world_.precision(), *result, world_.loss_scale());
      });
}

}  // namespace psim
