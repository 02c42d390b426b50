#include "sim/job.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "sim/nodes/worker/gradient_probe.hpp"
#include "sim/protocol/server/shard_invariants.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

std::vector<double> mean_steps(const Scenario& scenario) {
  std::vector<double> result(static_cast<std::size_t>(scenario.cluster.workers));
  for (std::size_t w = 0; w < result.size(); ++w) result[w] = mean_step_seconds(scenario, w);
  return result;
}

std::int64_t least_version(const std::vector<Slice>& parts) {
  return std::ranges::min_element(parts, {}, &Slice::version)->version;
}

}  // namespace

Job::Job(const JobPlan& plan, std::size_t number, Machines& machines, RunObserver& run,
         GradientProbe* gradients)
    : plan_(plan),
      number_(number),
      run_(run),
      slowness_(plan.scenario.compute, plan.scenario.stragglers,
                static_cast<std::uint64_t>(plan.scenario.seed), mean_steps(plan.scenario)),
      state_(plan, machines.platform.hosts.size()),
      context_{.plan = plan,
               .agenda = machines.agenda,
               .cpus = machines.cpus,
               .network = machines.network,
               .recorder = machines.recorder,
               .pool = machines.pool,
               .slowness = slowness_,
               .state = state_,
               .observer = *this,
               .run = run,
               .gradients = GradientProbe::why_not(plan).empty() ? gradients : nullptr},
      actors_(context_, machines.platform) {
  if (plan.learner)
    evaluator_ = std::make_unique<Evaluator>(*plan.learner, plan.split->part(judged_on()),
                                             plan.scenario.training.target, machines.pool);
}

void Job::start(const std::vector<JobContext*>& jobs) {
  std::shared_ptr<Values> weights;
  if (plan_.learner)
    weights = std::make_shared<Values>(
        plan_.learner->first_weights(plan_.precision(), static_cast<std::uint64_t>(plan_.scenario.seed)));
  actors_.start(weights, jobs);
}

void Job::on_end() {
  ended_early_ = !context_.is_through();
  // Servers may apply a worker's pushes after the worker has left.
  finished_ = std::max(state_.progress.last_finish(), context_.recorder.stats().last_work);
  end_soon();
}

void Job::end_soon() {
  context_.agenda.at(Agenda::now(), [this] { run_.on_end(*this); });
}

void Job::plan_evaluations() {
  if (!evaluator_) return;
  take_point(Agenda::now());
  const TrainingSpec& training = plan_.scenario.training;
  if (training.evaluate_every) {
    evaluate_every_ = *training.evaluate_every;
  } else {  // once an epoch
    evaluate_every_.updates =
        std::max<std::int64_t>(1, std::llround(plan_.rule.updates_per_clock() / plan_.epochs().per_clock));
  }
  if (!evaluate_every_.by_time()) return;
  if ((training.target.given() && training.target.stop) || (decides_faults() && run_.waits_for_evaluations()))
    return plan_evaluation(1);
  Agenda::on_advance([this](double now) {
    if (!is_over()) take_points_before(now);
  });
}

// Evaluates at the planned date, because the result may end the run or start a fault.
void Job::plan_evaluation(std::int64_t turn) {
  context_.agenda.at(static_cast<double>(turn) * evaluate_every_.time.value, [this, turn] {
    if (is_over()) return;
    if (take_point(Agenda::now())) return run_.on_end(*this);
    if (!run_.is_stuck()) plan_evaluation(turn + 1);
  });
}

// Evaluates at each planned date before `now`. The clock has already passed these dates. But the weights are
// still those of these dates, because only events change them. Entries of the agenda at these dates would
// change the run, because SimGrid rounds the rest of every flow at each date at which it stops.
void Job::take_points_before(double now) {
  for (;;) {
    const double date = static_cast<double>(periods_ + 1) * evaluate_every_.time.value;
    if (!(date < now)) return;
    ++periods_;
    take_point(date);
  }
}

void Job::plan_end() {
  if (const std::optional<Seconds>& duration = plan_.scenario.training.duration) {
    context_.agenda.at(duration->value, [this] { run_.on_end(*this); });
  }
}

void Job::on_version() {
  const std::int64_t updates = context_.recorder.stats().updates(number_);
  state_.totals.reach(updates);
  if (decides_faults()) run_.on_update(updates);
  if (!is_over() && is_evaluation_due() && take_point(Agenda::now())) end_soon();
}

// The job looks at every change of the version, also at a decrease. A rise or a fall of the count past a
// multiple of the period makes an evaluation due.
bool Job::is_evaluation_due() {
  if (!evaluator_ || evaluate_every_.by_time() || version() == version_) return false;
  version_ = version();
  const std::int64_t count =
      evaluate_every_.by_samples() ? context_.recorder.stats().spaces[number_].samples_used : version_;
  const std::int64_t period =
      evaluate_every_.by_samples() ? evaluate_every_.samples : evaluate_every_.updates;
  const std::int64_t before = std::exchange(periods_, count / period);
  return periods_ != before;
}

// The model's version is the least version of its parts.
std::int64_t Job::version() const {
  const Peers* peers = nodes().peers();
  return peers != nullptr ? peers->version() : context_.recorder.stats().updates(number_);
}

void Job::on_applied(const PushOutcome& push) {
  GradientProbe* probe = context_.gradients;
  if (probe == nullptr) return;
  const std::uint32_t shard = push.shard - plan_.first_shard;
  probe->on_applied(plan_, shard,
                    {.at = Agenda::now(),
                     .worker = push.worker,
                     .clock = push.clock,
                     .staleness = push.staleness.value_or(0)},
                    nodes().weights()[shard]);
}

// Returns true if this point reaches a target that ends the training.
bool Job::take_point(double date) {
  const RunStats& stats = context_.recorder.stats();
  const SpaceStats& space = stats.spaces[number_];
  CurvePoint point{.at = date,
                   .updates = 0,
                   .epoch = 0,
                   .bytes = stats.bytes_of(space),
                   .economy = run_.economy(date),
                   .result = {}};
  const auto workers = static_cast<double>(plan_.workers());
  point.epoch = plan_.epochs().after(static_cast<double>(stats.clocks(space)) / workers,
                                     static_cast<double>(stats.first_clocks(space)) / workers);
  std::vector<Slice> parts = weights();
  point.updates = least_version(parts);
  auto whole = std::make_shared<Assembly>(std::move(parts), plan_.places_in(state_.layouts.newest()));
  const bool reached = evaluator_->evaluate(point, std::move(whole));
  if (decides_faults() && run_.waits_for_evaluations()) {
    evaluator_->finish();
    run_.on_evaluation(evaluator_->curve().back().result);
  }
  return reached;
}

void Job::end() {
  if (finished_ == 0) finished_ = Agenda::now();
  last_weights_ = nodes().weights();
  state_.progress.end();
}

void Job::finish_curve() {
  if (!evaluator_ || std::exchange(curve_finished_, true)) return;
  evaluator_->finish();
  const CurvePoint& last = evaluator_->curve().back();
  const bool is_final = last.weights == hash_of_weights() && last.updates == least_version(weights());
  if (!is_final || evaluator_->curve().size() == 1) take_point(std::max(finished_, last.at));
  evaluator_->finish();
  const DataPart reported_on = plan_.split->reported_on();
  if (reported_on == judged_on()) return;
  Assembly whole(weights(), plan_.places_in(state_.layouts.newest()));
  tested_ = plan_.learner->evaluate(whole.get(), plan_.split->part(reported_on));
}

DataPart Job::judged_on() const {
  return plan_.split != nullptr ? plan_.split->judged_on() : DataPart::training;
}

std::vector<CurvePoint> Job::curve() const {
  if (!evaluator_) return {};
  return {evaluator_->curve().begin(), evaluator_->curve().end()};
}

std::optional<CurvePoint> Job::target() const {
  const CurvePoint* reached = evaluator_ ? evaluator_->reached() : nullptr;
  return reached != nullptr ? std::optional(*reached) : std::nullopt;
}

std::optional<double> Job::last_miss() const { return evaluator_ ? evaluator_->last_miss() : std::nullopt; }

std::uint64_t Job::hash_of_weights() const {
  const std::shared_ptr<const Values> last = last_weights();
  return last ? hash_of(*last) : 0;
}

std::shared_ptr<const Values> Job::last_weights() const {
  if (!plan_.learner) return nullptr;
  Assembly whole(weights(), plan_.places_in(state_.layouts.newest()));
  return std::make_shared<const Values>(whole.get());
}

bool Job::final_differs() const {
  if (!evaluator_) return false;
  const CurvePoint& last = evaluator_->curve().back();
  if (last.weights != hash_of_weights()) return true;
  if (!checks_invariants()) return false;
  Assembly whole(weights(), plan_.places_in(state_.layouts.newest()));
  const double loss = plan_.learner->evaluate(whole.get(), plan_.split->part(judged_on())).loss;
  return std::memcmp(&loss, &last.result.loss, sizeof loss) != 0;
}

std::deque<Job> make_jobs(const std::vector<JobPlan>& plans, Machines& machines, RunObserver& run,
                          GradientProbe* gradients) {
  std::deque<Job> jobs;
  for (const JobPlan& plan : plans) jobs.emplace_back(plan, jobs.size(), machines, run, gradients);
  return jobs;
}

void start_jobs(std::deque<Job>& jobs, Machines& machines) {
  std::vector<JobContext*> contexts;
  for (Job& job : jobs) contexts.push_back(&job.context());
  for (Job& job : jobs) {
    job.start(contexts);
    if (&job != &jobs.front()) jobs.front().actors().act_for(job.actors());
  }
  machines.network.on_arrival([&jobs](const Message& message) {
    for (Job& job : jobs) job.actors().on_arrival(message);
  });
}

Evaluator::Evaluator(const Learner& learner, const Dataset& set, const Target& target, Pool& pool)
    : learner_(learner), set_(set), target_(target), pool_(pool) {}

bool Evaluator::evaluate(CurvePoint point, std::shared_ptr<Assembly> weights) {
  curve_.push_back(point);
  CurvePoint* result = &curve_.back();
  tasks_.push_back(pool_.submit([this, result, weights = std::move(weights)] {
    const Values& values = weights->get();
    result->weights = hash_of(values);
    result->result = learner_.evaluate(values, set_);
  }));
  // A waiting task keeps a copy of the model alive. So the number of waiting tasks stays below the number of
  // threads.
  while (tasks_.size() >= pool_.threads()) {
    pool_.wait(tasks_.front());
    tasks_.pop_front();
  }
  if (!target_.given() || !target_.stop) return false;
  finish();
  return curve_.end() - find_reached() == target_.hold.value_or(1);
}

void Evaluator::finish() {
  for (const Pool::Handle& task : tasks_) pool_.wait(task);
  tasks_.clear();
}

bool Evaluator::reaches(const Evaluation& e) const {
  if (!target_.given()) return false;
  if (target_.accuracy && !(e.accuracy.value_or(0) >= *target_.accuracy)) return false;
  return !target_.loss || e.loss <= *target_.loss;
}

std::deque<CurvePoint>::const_iterator Evaluator::find_reached() const {
  const auto reaching = [this](const CurvePoint& p) { return reaches(p.result); };
  const std::int64_t hold = target_.hold.value_or(1);
  const auto row = std::ranges::search_n(curve_, hold, true, {}, reaching);
  return row.begin();
}

const CurvePoint* Evaluator::reached() const {
  const auto first = find_reached();
  return first == curve_.end() ? nullptr : &*first;
}

std::optional<double> Evaluator::last_miss() const {
  const auto first = find_reached();
  if (first == curve_.end() || first == curve_.begin()) return std::nullopt;
  return (first - 1)->at;
}

std::uint64_t hash_of(const Values& weights) { return XXH3_64bits(weights.raw(), weights.bytes()); }

}  // namespace psim
