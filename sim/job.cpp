#include "sim/job.hpp"
#include "sim/scenario/spec/pace.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/mutant.hpp"

namespace psim {
namespace {

constexpr std::int64_t no_limit = std::int64_t{1} << 60U;

std::vector<double> mean_steps(const Scenario& scenario) {
  std::vector<double> result(static_cast<std::size_t>(scenario.cluster.workers));
  for (std::size_t w = 0; w < result.size(); ++w) result[w] = mean_step_seconds(scenario, w);
  return result;
}

}  // namespace

Job::Job(const LoadedJob& loaded, std::size_t space, std::uint32_t first_shard, KeySpace keys,
         const Machines& machines)
    : loaded_(loaded),
      scenario_(loaded.scenario),
      space_(space),
      slowness_(scenario_.compute, scenario_.stragglers, static_cast<std::uint64_t>(scenario_.seed),
                mean_steps(scenario_)),
      world_{.scenario = scenario_,
             .rule = rule_of(scenario_),
             .steps = steps_of(scenario_, loaded.data ? loaded.data->train.size() : 0).value_or(no_limit),
             .keys = std::move(keys),
             .training_samples = loaded.data ? loaded.data->train.size() : 0,
             .first_index = loaded.first_worker,
             .first_shard = first_shard,
             .batch_sizes = loaded.batch_sizes,
             .agenda = machines.agenda,
             .network = machines.network,
             .recorder = machines.recorder,
             .pool = machines.pool,
             .slowness = slowness_,
             .busy = std::vector<int>(machines.platform.hosts.size(), 0),
             .on_update = {},
             .on_end = {}},
      crew_(world_, machines.platform) {
  if (!loaded.data) return;
  learner_ = make_learner(scenario_.model, *loaded.data);
  sampler_ = std::make_unique<Sampler>(loaded.data->train,
                                       Sampler::Options{.partition = scenario_.data.partition,
                                                        .dirichlet_alpha = scenario_.data.dirichlet_alpha,
                                                        .workers = world_.workers(),
                                                        .batch = scenario_.training.batch_size,
                                                        .seed = static_cast<std::uint64_t>(scenario_.seed)});
  evaluator_ = std::make_unique<Evaluator>(*learner_, scenario_.training.target, machines.pool);
  world_.learner = learner_.get();
  world_.sampler = sampler_.get();
  world_.keys_used.resize(world_.workers());
  world_.data = &loaded.data->train;
  world_.evaluated = &loaded.data->evaluated();
}

void Job::start(Hooks hooks, const std::vector<World*>& worlds) {
  hooks_ = std::move(hooks);
  std::shared_ptr<Values> weights;
  if (learner_)
    weights = std::make_shared<Values>(learner_->initial_weights(static_cast<std::uint64_t>(scenario_.seed)));
  world_.on_update = [this] { on_update(); };
  world_.on_end = [this] {
    ended_early_ = !world_.is_through();
    // What a worker sent before it left may be applied after that.
    finished_ = std::max(world_.last_finish, world_.recorder.stats().last_work);
    end_soon();
  };
  world_.watch = hooks_.watch;
  world_.absent = absent_at_first(scenario_);
  crew_.start(weights, worlds);
}

void Job::end_soon() {
  world_.agenda.at(Agenda::now(), [this] { hooks_.on_end(*this); });
}

void Job::plan_evaluations() {
  if (!evaluator_) return;
  take_point();
  const std::optional<Period>& period = scenario_.training.evaluate_every;
  if (!period) {  // once an epoch
    evaluate_updates_ =
        std::max<std::int64_t>(1, std::llround(world_.rule.updates_per_clock() / world_.epochs().per_clock));
  } else if (period->by_updates()) {
    evaluate_updates_ = period->updates;
  } else {
    const double every = period->time.value;
    const auto tick = [this, every](auto&& self, std::int64_t turn) -> void {
      world_.agenda.at(static_cast<double>(turn) * every, [this, self, turn] {
        if (is_over()) return;
        if (take_point()) return hooks_.on_end(*this);
        if (!hooks_.watch->is_stuck()) self(self, turn + 1);
      });
    };
    tick(tick, 1);
  }
}

void Job::plan_end() {
  if (const std::optional<Seconds>& duration = scenario_.training.duration) {
    world_.agenda.at(duration->value, [this] { hooks_.on_end(*this); });
  }
}

void Job::on_update() {
  const std::int64_t updates = world_.recorder.stats().updates(space_);
  if (hooks_.on_update) hooks_.on_update(updates);
  if (evaluate_updates_ == 0 || is_over()) return;
  const std::int64_t turn = (updates - (mutant("evaluates-an-update-late") ? 1 : 0)) / evaluate_updates_;
  if (turn <= last_evaluated_) return;
  last_evaluated_ = turn;
  if (take_point()) end_soon();
}

// True when this point reaches a target that ends the training.
bool Job::take_point() {
  const RunStats& stats = world_.recorder.stats();
  const SpaceStats& space = stats.spaces[space_];
  CurvePoint point{.at = curve_finished_ ? finished_ : Agenda::now(),
                   .updates = stats.updates(space_),
                   .epoch = 0,
                   .bytes = stats.bytes_of(space),
                   .result = {}};
  const auto workers = static_cast<double>(world_.workers());
  point.epoch = world_.epochs().after(static_cast<double>(stats.clocks(space)) / workers,
                                      static_cast<double>(stats.first_clocks(space)) / workers);
  auto whole = std::make_shared<Assembly>(crew_.weights(), world_.layout());
  const bool reached = evaluator_->evaluate(point, std::move(whole));
  if (hooks_.on_evaluation) {
    evaluator_->finish();
    hooks_.on_evaluation(evaluator_->curve().back().result);
  }
  return reached;
}

void Job::end() {
  if (finished_ == 0) finished_ = Agenda::now();
  world_.over = true;
}

void Job::finish_curve() {
  if (!evaluator_ || std::exchange(curve_finished_, true)) return;
  const auto& curve = evaluator_->curve();
  if (world_.recorder.stats().updates(space_) > curve.back().updates || curve.size() == 1) take_point();
  evaluator_->finish();
}

std::vector<CurvePoint> Job::curve() const {
  if (!evaluator_) return {};
  return {evaluator_->curve().begin(), evaluator_->curve().end()};
}

std::optional<CurvePoint> Job::target() const {
  const CurvePoint* reached = evaluator_ ? evaluator_->reached() : nullptr;
  return reached != nullptr ? std::optional(*reached) : std::nullopt;
}

std::uint64_t Job::hash_of_weights() const {
  if (!learner_) return 0;
  Assembly whole(crew_.weights(), world_.layout());
  return XXH3_64bits(whole.get().raw(), whole.get().bytes());
}

}  // namespace psim
