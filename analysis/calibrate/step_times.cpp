#include "analysis/calibrate/step_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <vector>

namespace psim::calibrate {
namespace {

using statistics::mean_of;

// The logarithms of a worker's steps, minus their mean.
std::vector<double> logs_of(const std::vector<double>& seconds) {
  std::vector<double> logs;
  for (const double one : seconds) logs.push_back(std::log(one));
  const double mean = mean_of(logs);
  for (double& one : logs) one -= mean;
  return logs;
}

struct Memory {
  double steps = 1, best_block = 1;
};

// That of the series with the longest one. A single worker whose slow steps follow slow steps slows whole
// steps of bsp, whatever the others do. A memory counts if chance finds one in 2 % of such logs only.
Memory longest_memory(const std::vector<std::vector<double>>& series) {
  constexpr double false_alarms = 0.02;
  constexpr std::size_t nearly_normal = 1000;  // degrees of freedom
  const std::size_t steps = series.front().size();
  const double chance = statistics::student_quantile(1 - false_alarms / static_cast<double>(series.size()),
                                                     std::min(steps, nearly_normal)) /
                        std::sqrt(static_cast<double>(steps));
  Memory longest;
  for (const std::vector<double>& one : series) {
    if (!(autocorrelation(one, 1)[1] > chance)) continue;
    const double memory = memory_of(one);
    if (memory > longest.steps) longest = {memory, best_block(one)};
  }
  return longest;
}

double variance_of(const std::vector<double>& centred) {
  double sum = 0;
  for (const double one : centred) sum += one * one;
  return centred.empty() ? 0 : sum / static_cast<double>(centred.size());
}

// How many of the first steps are a warm-up: their mean is far above that of the second half, by both its
// spread and a tenth.
std::size_t warm_up_of(const StepTimes& times) {
  std::vector<double> means;
  for (const std::vector<double>& row : times.compute) means.push_back(mean_of(row));
  const std::vector<double> later(means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2), means.end());
  const double usual = statistics::median_of(later);
  std::vector<double> distances;
  for (const double one : later) distances.push_back(std::abs(one - usual));
  const double spread = 1.4826 * statistics::median_of(distances),
               limit = usual + std::max(6 * spread, 0.1 * usual);
  std::size_t first = 0;
  while (first < means.size() / 10 && means[first] > limit) ++first;
  return first;
}

// The steps that every worker has; or else the workers' steps by their order.
std::vector<std::vector<const LoggedStep*>> rows_of(const StepLog& log, std::vector<std::int64_t>& steps,
                                                    std::vector<std::string>& notes) {
  std::map<std::int64_t, std::vector<const LoggedStep*>> rows;
  std::size_t fewest = log.counts().steps;
  for (const auto& [worker, times] : log.workers()) {
    for (const auto& [step, one] : times) rows[step].push_back(&one);
    fewest = std::min(fewest, times.size());
  }
  const std::size_t all = rows.size();
  std::erase_if(rows, [&](const auto& row) { return row.second.size() < log.workers().size(); });
  std::vector<std::vector<const LoggedStep*>> result;
  if (2 * rows.size() >= fewest) {
    if (rows.size() < all)
      notes.push_back(fmt::format("{} of {} steps are left out, because some workers lack them.",
                                  all - rows.size(), all));
    for (auto& [step, row] : rows) {
      steps.push_back(step);
      result.push_back(std::move(row));
    }
    return result;
  }
  notes.push_back(fmt::format(
      "Only {} of {} steps are those of all workers, so psim puts the workers' steps side by side by "
      "their order. What slows all workers at once may be lost.",
      rows.size(), all));
  result.resize(fewest);
  for (const auto& [worker, times] : log.workers()) {
    auto one = times.begin();
    for (std::size_t i = 0; i < fewest; ++i, ++one) result[i].push_back(&one->second);
  }
  steps.resize(fewest);
  std::iota(steps.begin(), steps.end(), 0);
  return result;
}

// Whether the communication of the steps is known. Leaves out steps without it, if most have it.
bool keep_rest(std::vector<std::vector<const LoggedStep*>>& rows, std::vector<std::int64_t>& steps,
               std::vector<std::string>& notes) {
  const auto is_whole = [](const std::vector<const LoggedStep*>& row) {
    return std::ranges::none_of(row, [](const LoggedStep* one) { return std::isnan(one->push + one->pull); });
  };
  const std::size_t all = rows.size(),
                    whole = static_cast<std::size_t>(std::ranges::count_if(rows, is_whole));
  if (whole == all) return true;
  const bool has_some = std::ranges::any_of(rows, [](const std::vector<const LoggedStep*>& row) {
    return std::ranges::any_of(
        row, [](const LoggedStep* one) { return !std::isnan(one->push) || !std::isnan(one->pull); });
  });
  if (2 * whole < all || whole < fewest_steps) {
    if (has_some)
      notes.push_back(
          fmt::format("In {} of {} steps a worker lacks push_s or pull_s, so psim does not use any of them.",
                      all - whole, all));
    return false;
  }
  notes.push_back(
      fmt::format("{} of {} steps are left out, because a worker lacks push_s or pull_s.", all - whole, all));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all; ++i) {
    if (!is_whole(rows[i])) continue;
    rows[kept] = rows[i];
    steps[kept++] = steps[i];
  }
  rows.resize(kept);
  steps.resize(kept);
  return true;
}

}  // namespace

StepTimes StepTimes::part(std::size_t begin, std::size_t end) const {
  const auto cut = [&](const auto& rows) {
    using Rows = std::decay_t<decltype(rows)>;
    if (rows.empty()) return Rows{};
    return Rows(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                rows.begin() + static_cast<std::ptrdiff_t>(end));
  };
  return {.workers = workers, .compute = cut(compute), .rest = cut(rest), .steps = cut(steps)};
}

std::vector<double> StepTimes::of_worker(std::size_t worker) const {
  std::vector<double> result;
  for (const std::vector<double>& row : compute) result.push_back(row[worker]);
  return result;
}

std::vector<double> StepTimes::slowest() const {
  std::vector<double> result;
  for (const std::vector<double>& row : compute) result.push_back(*std::ranges::max_element(row));
  return result;
}

std::vector<double> StepTimes::imbalances() const {
  std::vector<double> result;
  for (const std::vector<double>& row : compute)
    result.push_back(*std::ranges::max_element(row) / mean_of(row));
  return result;
}

std::vector<double> StepTimes::mean_durations() const {
  std::vector<double> result;
  for (std::size_t i = 0; i < size(); ++i) result.push_back(mean_of(compute[i]) + mean_of(rest[i]));
  return result;
}

StepTimes step_times(const StepLog& log, std::optional<std::int64_t> skip, std::vector<std::string>& notes) {
  StepTimes times;
  for (const auto& [worker, steps] : log.workers()) times.workers.push_back(worker);
  std::vector<std::vector<const LoggedStep*>> rows = rows_of(log, times.steps, notes);
  const bool has_rest = keep_rest(rows, times.steps, notes);
  for (const std::vector<const LoggedStep*>& row : rows) {
    std::vector<double>& compute = times.compute.emplace_back();
    std::vector<double>& rest = times.rest.emplace_back();
    for (const LoggedStep* one : row) {
      compute.push_back(one->compute);
      rest.push_back(one->push + one->pull);
    }
  }
  if (!has_rest) times.rest.clear();
  std::size_t first = std::min(static_cast<std::size_t>(skip.value_or(0)), times.size());
  if (!skip && times.size() >= 2 * fewest_judged) {
    first = warm_up_of(times);
    if (first > 0)
      notes.push_back(fmt::format(
          "The first {} a warm-up and {} left out: far longer than later steps. --skip N leaves out "
          "another number.",
          first == 1 ? "step is" : fmt::format("{} steps are", first), first == 1 ? "is" : "are"));
  }
  times = times.part(first, times.size());
  if (times.size() < fewest_steps)
    throw LogError(fmt::format("the log has {} of every worker",
                               times.size() == 1 ? "1 step" : fmt::format("{} steps", times.size())),
                   fmt::format("a fit needs {}, and a good one some hundred", fewest_steps));
  return times;
}

StepFit fit_steps(const StepTimes& times) {
  const std::size_t workers = times.workers.size(), steps = times.size();
  StepFit fit;
  std::vector<std::vector<double>> logs;
  std::vector<double> common(steps, 0);
  double within = 0;
  for (std::size_t w = 0; w < workers; ++w) {
    const std::vector<double> seconds = times.of_worker(w);
    const Mean mean = mean_with_error(seconds);
    fit.means.push_back(mean.value);
    fit.intervals.push_back(interval_of(mean));
    double squares = 0;
    for (const double one : seconds) squares += one * one;
    within += std::max(0.0, squares / static_cast<double>(steps) / (mean.value * mean.value) - 1) /
              static_cast<double>(workers);
    logs.push_back(logs_of(seconds));
    for (std::size_t i = 0; i < steps; ++i) common[i] += logs[w][i] / static_cast<double>(workers);
  }
  fit.cv = std::sqrt(within);
  const Memory longest = longest_memory(logs);
  fit.memory = longest.steps;
  // The variance of the mean over workers is that of the common effect and a part of the workers' own.
  double all = 0, own = 0;
  for (std::vector<double>& series : logs) {
    all += variance_of(series) / static_cast<double>(workers);
    for (std::size_t i = 0; i < steps; ++i) series[i] -= common[i];
    own += variance_of(series) / static_cast<double>(workers);
  }
  constexpr double rounding = 1e-18;
  if (workers > 1 && all > rounding) {
    const auto w = static_cast<double>(workers);
    const double shared = variance_of(common) - own / (w - 1);
    fit.shared = std::clamp(shared / all, 0.0, 1.0);
    // An effect that chance explains has no memory of its own.
    fit.shared_memory = fit.shared > 2 / std::sqrt(static_cast<double>(steps)) ? memory_of(common) : 1;
  }
  // A block of several memories keeps nearly all of the correlation between its steps. Steps without a memory
  // need no block.
  constexpr double memories_of_block = 8;
  const double memory = std::max(fit.memory, fit.shared_memory);
  const double wanted =
      memory > 1 ? std::max({memories_of_block * memory, longest.best_block, best_block(times.slowest())})
                 : 1;
  fit.block = std::clamp<std::int64_t>(std::llround(wanted), 1,
                                       std::max<std::int64_t>(1, static_cast<std::int64_t>(steps / 4)));
  return fit;
}

namespace {

// The autocorrelation of a series, lag by lag.
class Autocorrelation {
 public:
  explicit Autocorrelation(std::span<const double> series) : centred_(series.begin(), series.end()) {
    const double mean = mean_of(series);
    for (double& one : centred_) one -= mean;
    for (const double one : centred_) variance_ += one * one;
    // Rounding is no variation.
    constexpr double rounding = 1e-9;
    if (variance_ <= std::pow(rounding * mean, 2) * static_cast<double>(series.size())) variance_ = 0;
  }
  double operator()(std::size_t lag) const {
    double sum = 0;
    for (std::size_t i = lag; i < centred_.size() && variance_ > 0; ++i)
      sum += centred_[i] * centred_[i - lag] / variance_;
    return sum;
  }

 private:
  std::vector<double> centred_;
  double variance_ = 0;
};

// The sum of squares of the first `waves` coefficients of a cosine transform of the series.
double squares_of_waves(std::span<const double> series, std::size_t waves) {
  double sum = 0;
  for (std::size_t wave = 1; wave <= waves; ++wave) {
    const double angle = std::numbers::pi * static_cast<double>(wave) / static_cast<double>(series.size());
    // cos((i + 1 / 2) angle), each from the two before it.
    double before = std::cos(angle / 2), now = before, coefficient = 0;
    const double twice = 2 * std::cos(angle);
    for (const double one : series) {
      coefficient += one * now;
      const double next = twice * now - before;
      before = now;
      now = next;
    }
    sum += coefficient * coefficient;
  }
  return sum * 2 / static_cast<double>(series.size());
}

}  // namespace

std::vector<double> autocorrelation(std::span<const double> series, std::size_t lags) {
  const Autocorrelation at(series);
  std::vector<double> result;
  for (std::size_t lag = 0; lag <= std::min(lags, series.size() - 1); ++lag) result.push_back(at(lag));
  return result;
}

double memory_of(std::span<const double> series) {
  const double chance = 2 / std::sqrt(static_cast<double>(series.size()));
  const Autocorrelation at(series);
  double sum = 1;
  for (std::size_t lag = 1; lag <= series.size() / 4; ++lag) {
    const double one = at(lag);  // of a long log, all lags would take hours
    if (!(one > chance)) break;
    sum += 2 * one;
  }
  return sum;
}

double best_block(std::span<const double> series) {
  const auto n = static_cast<double>(series.size());
  const auto most = static_cast<std::size_t>(std::ceil(std::min(2 * std::sqrt(n), n / 4)));
  const std::vector<double> rho = autocorrelation(series, most);
  // The last lag before K_n lags in a row that chance explains.
  const double chance = 2 * std::sqrt(std::log10(n) / n);
  const auto in_a_row = std::max<std::size_t>(5, static_cast<std::size_t>(std::sqrt(std::log10(n))));
  std::size_t last = 0;
  for (std::size_t lag = 1; lag < rho.size(); ++lag) {
    if (std::abs(rho[lag]) >= chance) last = lag;
    else if (lag - last >= in_a_row) break;
  }
  if (last == 0) return 1;
  const auto width = std::min(static_cast<double>(2 * last), static_cast<double>(rho.size() - 1));
  const auto window = [](double x) { return x <= 0.5 ? 1 : 2 * (1 - x); };
  double weighted = 0, density = 1;
  for (std::size_t lag = 1; static_cast<double>(lag) <= width; ++lag) {
    const double part = 2 * window(static_cast<double>(lag) / width) * rho[lag];
    weighted += part * static_cast<double>(lag);
    density += part;
  }
  if (!(density > 0)) return 1;
  const double spread = 4.0 / 3 * density * density;
  return std::max(1.0, std::cbrt(2 * weighted * weighted / spread * n));
}

std::vector<double> means_of_parts(std::span<const double> series, std::size_t parts) {
  parts = std::min(parts, series.size());
  std::vector<double> means;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = series.size() * part / parts, end = series.size() * (part + 1) / parts;
    means.push_back(mean_of(series.subspan(begin, end - begin)));
  }
  return means;
}

Mean mean_with_error(std::span<const double> series) {
  const auto n = static_cast<double>(series.size());
  // Of few waves the error is uncertain, and many waves are too fast to know of slow changes: their
  // wavelengths must be far longer than the memory.
  constexpr double fewest = 3, most = 50, memories_of_wave = 12;
  const double slow = 2 * n / (memories_of_wave * memory_of(series)), usual = 0.4 * std::pow(n, 2.0 / 3);
  const double waves =
      std::min(std::floor(std::clamp(std::min(slow, usual), fewest, most)), std::max(1.0, n - 1));
  Mean mean{.value = mean_of(series), .freedom = waves};
  std::vector<double> centred(series.begin(), series.end());
  for (double& one : centred) one -= mean.value;
  mean.error = std::sqrt(squares_of_waves(centred, static_cast<std::size_t>(waves)) / (waves * n));
  return mean;
}

statistics::Interval interval_of(const Mean& mean) {
  const double half =
      statistics::student_quantile(0.975, static_cast<std::size_t>(mean.freedom)) * mean.error;
  return {mean.value - half, mean.value + half};
}

double chance_difference(const Mean& one, const Mean& other, double probability) {
  const double a = one.error * one.error, b = other.error * other.error;
  if (!(a + b > 0)) return 0;
  // Welch and Satterthwaite's degrees of freedom.
  const double freedom = (a + b) * (a + b) / (a * a / one.freedom + b * b / other.freedom);
  return statistics::student_quantile(1 - probability / 2, static_cast<std::size_t>(freedom)) *
         std::sqrt(a + b);
}

std::optional<ServerWork> server_work(const StepLog& log) {
  std::vector<double> seconds;
  for (const auto& [worker, steps] : log.workers()) {
    for (const auto& [step, one] : steps)
      if (std::isfinite(one.server)) seconds.push_back(one.server);
  }
  if (seconds.empty()) return {};
  const double mean = statistics::mean_of(seconds);
  ServerWork work{.seconds = mean, .interval = {mean, mean}, .pushes = seconds.size()};
  // Neighbouring steps are alike, so the interval is that of the means of parts.
  if (const auto interval = statistics::student_interval(means_of_parts(seconds, 20)))
    work.interval = {std::max(interval->low, 0.0), interval->high};
  return work;
}

}  // namespace psim::calibrate
