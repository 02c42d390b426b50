#include "sim/cluster/slowness.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/mutant.hpp"
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
  if (!s.every || mutant("straggler-comes-once")) return {from, until};
  const double period = s.every->value;
  // The first turn whose end is to come. Every date is reckoned from its turn, so that it is the same number
  // whenever it is asked for; the division may have been rounded either way.
  double turn = std::max(0.0, std::floor((now - from) / period) - 1);
  for (int more = 0; more < 2 && now >= until + turn * period; ++more) ++turn;
  return {from + turn * period, until + turn * period};
}

bool active(const StragglerSpec& s, double now) {
  const Window window = window_at(s, now);
  return now >= window.begin && (now < window.end || mutant("straggler-never-recovers"));
}

}  // namespace

Slowness::Slowness(ComputeSpec spec, std::vector<StragglerSpec> stragglers, std::uint64_t seed,
                   std::vector<double> mean_steps)
    : spec_(std::move(spec)),
      stragglers_(std::move(stragglers)),
      seed_(seed),
      mean_steps_(std::move(mean_steps)) {}

double Slowness::of_step(std::uint32_t worker, std::int64_t step) {
  double factor = draw(worker, step);
  for (std::size_t i = 0; i < stragglers_.size(); ++i) {
    const StragglerSpec& s = stragglers_[i];
    if (!s.probability || !concerns(s, worker)) continue;
    Stream stream(seed_, "straggler", combine(i, mutant("all-slow-at-once") ? 0 : worker),
                  static_cast<std::uint64_t>(step));
    if (stream.uniform() < *s.probability) factor *= s.slowdown;
  }
  return factor;
}

double Slowness::draw(std::uint32_t worker, std::int64_t step) {
  Stream stream(seed_, "compute", worker, static_cast<std::uint64_t>(step));
  const double cv2 = spec_.cv * spec_.cv;
  switch (spec_.distribution) {
    case Distribution::constant: return 1.0;
    case Distribution::uniform:
      return stream.uniform(1 - std::sqrt(3.0) * spec_.cv, 1 + std::sqrt(3.0) * spec_.cv);
    case Distribution::exponential: return stream.exponential();
    case Distribution::shifted_exponential: {
      const double fixed = spec_.shift.value / mean_steps_[worker];
      return fixed + (1 - fixed) * stream.exponential();
    }
    case Distribution::pareto: return stream.pareto(spec_.alpha) * (spec_.alpha - 1) / spec_.alpha;
    case Distribution::gamma: return cv2 > 0 ? stream.gamma(1 / cv2) * cv2 : 1.0;
    case Distribution::lognormal: {
      const double variance = std::log1p(cv2);
      return std::exp(std::sqrt(variance) * stream.normal() -
                      (mutant("lognormal-is-slower-in-the-mean") ? 0 : variance / 2));
    }
    case Distribution::markov: {
      const double share_slow = spec_.enter / (spec_.enter + spec_.leave);
      const double mean = 1 + share_slow * (spec_.slowdown - 1);
      return (slow_state(worker, step) ? spec_.slowdown : 1.0) / mean;
    }
    case Distribution::trace: {
      const auto& row = spec_.trace_rows[static_cast<std::size_t>(step) % spec_.trace_rows.size()];
      return row[worker % row.size()];
    }
  }
  return 1.0;
}

// The two-state chain is started in its stationary distribution and replayed from where it was last asked.
bool Slowness::slow_state(std::uint32_t worker, std::int64_t step) {
  if (chains_.size() <= worker) chains_.resize(worker + 1);
  Chain& chain = chains_[worker];
  if (step < chain.step) chain = {};
  while (chain.step < step) {
    ++chain.step;
    const double u = Stream(seed_, "markov", worker, static_cast<std::uint64_t>(chain.step)).uniform();
    if (chain.step == 0) {
      chain.slow = u < spec_.enter / (spec_.enter + spec_.leave);
    } else {
      chain.slow = chain.slow ? u >= spec_.leave : u < spec_.enter;
    }
  }
  return chain.slow;
}

double Slowness::speed_factor(std::uint32_t worker, double now) const {
  double factor = 1.0;
  for (const StragglerSpec& s : stragglers_) {
    if (!s.probability && concerns(s, worker) && active(s, now)) factor /= s.slowdown;
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
  return next;
}

}  // namespace psim
