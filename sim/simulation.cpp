#include "sim/simulation.hpp"

#include <fmt/format.h>
#include <Eigen/Core>
#include <simgrid/Exception.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "sim/cluster/engine.hpp"
#include "sim/cluster/fault_plan.hpp"
#include "sim/cluster/speed_control.hpp"
#include "sim/evaluator.hpp"
#include "sim/protocol/mutant.hpp"
#include "sim/roles/crew.hpp"
#include "sim/scenario/check.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {
namespace {

constexpr std::int64_t no_limit = std::int64_t{1} << 60U;

std::vector<double> mean_steps(const Scenario& scenario) {
  std::vector<double> result(static_cast<std::size_t>(scenario.cluster.workers));
  for (std::size_t w = 0; w < result.size(); ++w) result[w] = mean_step_seconds(scenario, w);
  return result;
}

class Simulation final : public FaultTarget {
 public:
  Simulation(const LoadedScenario& loaded, const RunOptions& options, const std::vector<EventSink*>& sinks);
  // Threads may be in the middle of what nobody wants any more.
  ~Simulation() override { pool_.stop(); }
  RunResult run();

  void crash(NodeId node, bool) override { crew_.crash(node); }
  void restart(NodeId node) override {
    crew_.restart(node);
    if (speeds_.is_frozen(node)) speeds_.apply(node);
  }
  void leave(NodeId node) override { crew_.leave(node); }
  void join(NodeId node) override { restart(node); }
  void lose_disk(NodeId) override {}
  void set_speed(NodeId node, double factor) override { speeds_.set_fault(node, factor); }

 private:
  void start_actors();
  void plan_evaluations();
  void plan_end();
  std::uint32_t rank_of(const Message& message) const;
  bool take_point();
  bool is_quiet() const;
  bool computes() const;
  bool is_stuck() const { return is_quiet() && !(faults_ && faults_->more_to_come()); }
  void on_update();
  bool is_hopeless();
  void give_up(std::vector<std::string> why);
  void end_now();
  void close();
  RunResult result();

  const Scenario& scenario_;
  Engine engine_;
  Platform platform_;
  KeySpace keys_;
  Recorder recorder_;
  Pool pool_;
  Agenda agenda_;
  Network network_;
  Slowness slowness_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Evaluator> evaluator_;
  World world_;
  Crew crew_;
  SpeedControl speeds_;
  std::unique_ptr<FaultPlan> faults_;  // none without faults
  std::int64_t evaluate_updates_ = 0;  // evaluate whenever so many more updates are done; 0: by time
  std::int64_t last_evaluated_ = 0;    // in units of evaluate_updates_
  bool ended_ = false;
  double end_ = 0;
  std::vector<std::string> stuck_;
};

Simulation::Simulation(const LoadedScenario& loaded, const RunOptions& options,
                       const std::vector<EventSink*>& sinks)
    : scenario_(loaded.scenario),
      engine_(scenario_.cluster.network, options.context),
      platform_(build_platform(scenario_)),
      keys_(key_space_of(scenario_)),
      recorder_(static_cast<std::size_t>(scenario_.cluster.servers),
                static_cast<std::size_t>(scenario_.cluster.workers), keys_.servers()),
      pool_(options.threads),
      network_(platform_,
               {.header = static_cast<std::uint64_t>(scenario_.cluster.network.header.value),
                .one_by_one = scenario_.messages.order != SendOrder::parallel,
                .stream_from = database_node(scenario_.cluster),
                .rank = [this](const Message& message) { return rank_of(message); },
                .background = first_inference_node(scenario_.cluster)},
               recorder_, agenda_),
      slowness_(scenario_.compute, scenario_.stragglers, static_cast<std::uint64_t>(scenario_.seed),
                mean_steps(scenario_)),
      world_{.scenario = scenario_,
             .rule = rule_of(scenario_),
             .steps = steps_of(scenario_, loaded.data ? loaded.data->train.size() : 0).value_or(no_limit),
             .keys = keys_,
             .training_samples = loaded.data ? loaded.data->train.size() : 0,
             .agenda = agenda_,
             .network = network_,
             .recorder = recorder_,
             .pool = pool_,
             .slowness = slowness_,
             .busy = std::vector<int>(platform_.hosts.size(), 0),
             .on_update = {},
             .on_end = {}},
      crew_(world_, platform_),
      speeds_(platform_, slowness_, agenda_, network_, world_.first_worker(), world_.workers(),
              [this] { return is_stuck(); }) {
  for (EventSink* sink : sinks) recorder_.add_sink(sink);
  if (scenario_.may_fail()) recorder_.watch_failures();
  if (!scenario_.faults.empty()) {
    faults_ = std::make_unique<FaultPlan>(scenario_, network_, recorder_, agenda_, *this,
                                          [this] { return is_quiet(); });
    world_.on_clock = [this](NodeId worker, std::int64_t clock) { faults_->on_clock(worker, clock); };
  }
  if (!loaded.data) return;
  learner_ = make_learner(scenario_.model, *loaded.data);
  sampler_ = std::make_unique<Sampler>(loaded.data->train,
                                       Sampler::Options{.partition = scenario_.data.partition,
                                                        .dirichlet_alpha = scenario_.data.dirichlet_alpha,
                                                        .workers = world_.workers(),
                                                        .batch = scenario_.training.batch_size,
                                                        .seed = static_cast<std::uint64_t>(scenario_.seed)});
  evaluator_ = std::make_unique<Evaluator>(*learner_, scenario_.training.target, pool_);
  world_.learner = learner_.get();
  world_.sampler = sampler_.get();
  world_.keys_used.resize(world_.workers());
  world_.data = &loaded.data->train;
  world_.evaluated = &loaded.data->evaluated();
}

RunResult Simulation::run() {
  start_actors();
  speeds_.start();
  if (faults_) faults_->start();
  plan_evaluations();
  plan_end();
  sg4::Engine::on_deadlock_cb([this] { stuck_ = crew_.who_waits(); });
  engine_.run();
  if (crew_.failure()) std::rethrow_exception(crew_.failure());
  return result();
}

void Simulation::start_actors() {
  std::shared_ptr<Values> weights;
  if (learner_)
    weights = std::make_shared<Values>(learner_->initial_weights(static_cast<std::uint64_t>(scenario_.seed)));
  world_.on_update = [this] { on_update(); };
  world_.on_end = [this] {
    end_ = world_.last_finish;
    agenda_.at(Agenda::now(), [this] { end_now(); });
  };
  world_.is_stuck = [this] { return is_stuck(); };
  world_.is_hopeless = [this] { return is_hopeless(); };
  world_.give_up = [this](NodeId node) {
    give_up({fmt::format("at {:.6g} s {} has sent a request again as often as recovery.retry_limit allows",
                         Agenda::now(), node_name(scenario_.cluster, node))});
  };
  world_.absent = absent_at_first(scenario_);
  crew_.start(weights);
}

void Simulation::plan_evaluations() {
  if (!evaluator_) return;
  take_point();
  const std::optional<Period>& period = scenario_.training.evaluate_every;
  if (!period) {  // once an epoch
    evaluate_updates_ =
        std::max<std::int64_t>(1, std::llround(world_.rule.updates_per_clock() / world_.epochs_per_clock()));
  } else if (period->by_updates()) {
    evaluate_updates_ = period->updates;
  } else {
    const double every = period->time.value;
    const auto tick = [this, every](auto&& self, std::int64_t turn) -> void {
      agenda_.at(static_cast<double>(turn) * every, [this, self, turn] {
        if (take_point()) return end_now();
        if (!is_stuck()) self(self, turn + 1);
      });
    };
    tick(tick, 1);
  }
}

void Simulation::plan_end() {
  if (const std::optional<Seconds>& duration = scenario_.training.duration) {
    agenda_.at(duration->value, [this] { end_now(); });
  }
}

void Simulation::on_update() {
  if (faults_) faults_->on_update(recorder_.stats().updates());
  if (evaluate_updates_ == 0 || ended_) return;
  const std::int64_t turn = recorder_.stats().updates() / evaluate_updates_;
  if (turn <= last_evaluated_) return;
  last_evaluated_ = turn;
  if (take_point()) agenda_.at(Agenda::now(), [this] { end_now(); });
}

// Control messages first, then the shards of the first layers.
std::uint32_t Simulation::rank_of(const Message& message) const {
  const bool moves_values = message.kind == MessageKind::push || message.kind == MessageKind::weights;
  if (scenario_.messages.order != SendOrder::priority || !moves_values) return 0;
  return 1 + keys_.shards[message.shard].layer;
}

// True when this point reaches a target that ends the run.
bool Simulation::take_point() {
  const RunStats& stats = recorder_.stats();
  CurvePoint point{
      .at = Agenda::now(), .updates = stats.updates(), .epoch = 0, .bytes = stats.bytes_sent, .result = {}};
  point.epoch =
      static_cast<double>(stats.clocks()) / static_cast<double>(world_.workers()) * world_.epochs_per_clock();
  auto whole = std::make_shared<Assembly>(crew_.weights(), world_.layout());
  const bool reached = evaluator_->evaluate(point, std::move(whole));
  if (faults_ && faults_->waits_for_evaluations()) {
    evaluator_->finish();
    faults_->on_evaluation(evaluator_->curve().back().result);
  }
  return reached;
}

// Nothing is on its way, and nobody computes who is not frozen: only entries of the agenda could change that,
// and those that repeat for ever would keep the clock running. Without them SimGrid sees the deadlock.
bool Simulation::is_quiet() const {
  if (Agenda::now() == 0 || network_.in_flight() > 0) return false;
  for (NodeId node = 0; node < first_inference_node(scenario_.cluster); ++node) {
    if (network_.has_mail(node) && !speeds_.is_frozen(node)) return false;
  }
  return !computes();
}

bool Simulation::computes() const {
  for (NodeId node = 0; node < platform_.hosts.size(); ++node) {
    if (world_.busy[node] > 0 && !speeds_.is_frozen(node)) return true;
  }
  return false;
}

// Where heartbeats never end SimGrid sees no deadlock: nothing has been computed for long, nobody computes,
// and no fault will change that; of those that repeat for ever, none has for several turns. Or whatever is
// computed is lost again, time after time, and nobody gets further than somebody has been.
bool Simulation::is_hopeless() {
  constexpr std::int64_t circles = 20, least = 100;  // times as many steps in vain as before; and at least
  if (faults_ && faults_->once_to_come()) return false;
  const double patience = scenario_.recovery.patience.value + (faults_ ? faults_->some_turns() : 0);
  const RunStats& stats = recorder_.stats();
  const bool in_circles =
      faults_ && stats.begun - stats.begun_in_time > circles * (stats.begun_in_time + least);
  if (!in_circles && (computes() || Agenda::now() - stats.last_progress <= patience)) return false;
  give_up(crew_.who_waits());
  return true;
}

void Simulation::give_up(std::vector<std::string> why) {
  if (stuck_.empty()) agenda_.at(Agenda::now(), [this] { end_now(); });
  stuck_ = std::move(why);
}

// From an agenda entry, never from an actor. Pending entries would keep the clock running.
void Simulation::end_now() {
  close();
  agenda_.clear();
  sg4::Actor::kill_all();
}

// After this nothing is recorded any more.
void Simulation::close() {
  if (ended_) return;
  ended_ = true;
  if (end_ == 0) end_ = Agenda::now();
  network_.close([this](const Message& message) {
    if (message.kind == MessageKind::push) crew_.discard(message);
  });
  crew_.discard_rest();
  recorder_.close(end_);
}

RunResult Simulation::result() {
  close();
  RunResult result{.stats = recorder_.stats(),
                   .sim_time = end_,
                   .parameters = static_cast<std::int64_t>(world_.keys.parameters),
                   .server_parameters = world_.keys.load(world_.servers()),
                   .keys_used = world_.keys_used,
                   .flops_per_sample = flops_per_sample(scenario_.model),
                   .stuck = mutant("silent-hang") ? std::vector<std::string>{} : stuck_};
  result.server_ranges = crew_.server_ranges();
  for (std::uint32_t w = 0; w < world_.workers(); ++w) {
    WorkerStats& worker = result.stats.workers[w];
    const Worker* one = crew_.worker(w);
    worker.batch_size = one ? one->source().last_batch_size() : scenario_.training.batch_size;
    worker.samples = one ? one->samples_computed() : worker.clocks * worker.batch_size;
  }
  result.failures = recorder_.failures();
  result.inference = crew_.finish_inference(end_);
  if (evaluator_) {
    const auto& curve = evaluator_->curve();
    if (recorder_.stats().updates() > curve.back().updates || curve.size() == 1) take_point();
    evaluator_->finish();
    result.curve.assign(curve.begin(), curve.end());
    if (const CurvePoint* reached = evaluator_->reached()) result.target = *reached;
  }
  recorder_.add_to_digest(&end_, sizeof end_);
  for (const Slice& part : crew_.weights()) {
    if (part.values) recorder_.add_to_digest(part.values->raw(), part.values->bytes());
  }
  result.digest = recorder_.digest();
  return result;
}

}  // namespace

RunResult simulate(const LoadedScenario& loaded, const RunOptions& options,
                   const std::vector<EventSink*>& sinks) {
  // Eigen blocks its products by cache size, and blocking decides rounding: pinned, not asked of the machine.
  Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 8 << 20);
  return Simulation(loaded, options, sinks).run();
}

}  // namespace psim
