#include "sim/cluster/slowness.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/base/random.hpp"

namespace psim {
namespace {

bool concerns(const StragglerSpec& straggler, std::uint32_t worker) {
  return std::ranges::find(straggler.workers, static_cast<std::int64_t>(worker)) != straggler.workers.end();
}

struct Window {
  double begin, end;  // the straggler's window at or after a date
};

// The window that contains `now`, or else the next one; `every` repeats [from, until) for ever.
Window window_at(const StragglerSpec& s, double now) {
  const double from = s.from ? s.from->value : 0.0;
  const double until = s.until ? s.until->value : HUGE_VAL;
  if (!s.every) return {from, until};
  const double period = s.every->value;
  // The first turn that has not ended. Each date is computed from its turn number, so it is the same in every
  // call. The division may have been rounded up or down.
  double turn = std::max(0.0, std::floor((now - from) / period) - 1);
  for (int more = 0; more < 2 && now >= until + turn * period; ++more) ++turn;
  return {from + turn * period, until + turn * period};
}

bool active(const StragglerSpec& s, double now) {
  const Window window = window_at(s, now);
  return now >= window.begin && now < window.end;
}

}  // namespace

Slowness::Slowness(ComputeSpec spec, std::vector<StragglerSpec> stragglers, std::uint64_t seed,
                   std::vector<double> mean_steps, std::vector<ProfileSpec> profiles)
    : spec_(std::move(spec)),
      stragglers_(std::move(stragglers)),
      profiles_(std::move(profiles)),
      seed_(seed),
      mean_steps_(std::move(mean_steps)),
      effects_(spec_.effects.size()) {}

double Slowness::of_step(std::uint32_t worker, std::int64_t step) {
  double factor = draw(worker, step);
  for (std::size_t i = 0; i < stragglers_.size(); ++i) {
    const StragglerSpec& s = stragglers_[i];
    if (!s.probability || !concerns(s, worker)) continue;
    Stream stream(seed_, "straggler", combine(i, worker), static_cast<std::uint64_t>(step));
    if (stream.uniform() < *s.probability) factor *= s.slowdown;
  }
  return factor;
}

double Slowness::draw(std::uint32_t worker, std::int64_t step) {
  double factor = of_factor(spec_, seed_, states_, worker, step);
  for (std::size_t i = 0; i < spec_.effects.size(); ++i) {
    const EffectSpec& effect = spec_.effects[i];
    if (effect.concerns(worker)) factor *= of_effect(i, worker, step);
  }
  return factor;
}

// A shared effect is drawn once for each step, whichever worker gets there first.
double Slowness::of_effect(std::size_t index, std::uint32_t worker, std::int64_t step) {
  const EffectSpec& spec = spec_.effects[index];
  Effect& effect = effects_[index];
  const std::uint64_t seed = combine(combine(seed_, "effect"), index);
  if (!spec.shared) return of_factor(spec, seed, effect.states, worker, step);
  while (std::ssize(effect.drawn) <= step)
    effect.drawn.push_back(of_factor(spec, seed, effect.states, 0, std::ssize(effect.drawn)));
  return effect.drawn[static_cast<std::size_t>(step)];
}

double Slowness::of_factor(const FactorSpec& factor, std::uint64_t seed, std::vector<StepState>& states,
                           std::uint32_t worker, std::int64_t step) const {
  if (states.size() <= worker) states.resize(worker + 1);
  StepDraw draw{.settings = factor.settings,
                .trace = &factor,
                .seed = seed,
                .worker = worker,
                .step = step,
                .mean_step = mean_steps_.at(worker),
                .state = states[worker],
                .stream = Stream(seed, "compute", worker, static_cast<std::uint64_t>(step))};
  return factor.distribution->draw(draw);
}

double Slowness::speed_factor(std::uint32_t worker, double now) const {
  double factor = 1.0;
  for (const StragglerSpec& s : stragglers_) {
    if (!s.probability && concerns(s, worker) && active(s, now)) factor /= s.slowdown;
  }
  for (const ProfileSpec& profile : profiles_) {
    if (psim::concerns(profile, worker)) factor *= value_at(profile, now, 1, seed_, worker);
  }
  return factor;
}

std::optional<double> Slowness::next_change(std::uint32_t worker, double now) const {
  std::optional<double> next;
  const auto consider = [&](double date) {
    if (date > now && date < HUGE_VAL && (!next || date < *next)) next = date;
  };
  for (const StragglerSpec& s : stragglers_) {
    if (s.probability || !concerns(s, worker)) continue;
    const Window window = window_at(s, now);
    consider(window.begin);
    consider(window.end);
  }
  for (const ProfileSpec& profile : profiles_) {
    if (!psim::concerns(profile, worker)) continue;
    if (const std::optional<double> row = next_row(profile, now, seed_, worker)) consider(*row);
  }
  return next;
}

}  // namespace psim
