#include "sim/cluster/slowness.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/random.hpp"

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
      mean_steps_(std::move(mean_steps)) {}

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
  if (states_.size() <= worker) states_.resize(worker + 1);
  StepDraw draw{.settings = spec_.settings,
                .trace = spec_.trace_rows,
                .seed = seed_,
                .worker = worker,
                .step = step,
                .mean_step = mean_steps_.at(worker),
                .state = states_[worker],
                .stream = Stream(seed_, "compute", worker, static_cast<std::uint64_t>(step))};
  return spec_.distribution->draw(draw);
}

double Slowness::speed_factor(std::uint32_t worker, double now) const {
  double factor = 1.0;
  for (const StragglerSpec& s : stragglers_) {
    if (!s.probability && concerns(s, worker) && active(s, now)) factor /= s.slowdown;
  }
  for (const ProfileSpec& profile : profiles_) {
    if (psim::concerns(profile, worker)) factor *= value_at(profile, now);
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
    if (const std::optional<double> row = next_row(profile, now)) consider(*row);
  }
  return next;
}

}  // namespace psim
