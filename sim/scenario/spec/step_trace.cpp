#include "sim/scenario/spec/step_trace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/base/random.hpp"
#include "sim/scenario/spec/units.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

// The text after "blocks of ".
std::optional<std::string_view> block_text(std::string_view text) {
  constexpr std::string_view begin = "blocks of ";
  if (!text.starts_with(begin)) return std::nullopt;
  return text.substr(begin.size());
}

}  // namespace

std::optional<Resampling> step_resampling(std::string_view text) {
  if (text == "as it is") return Resampling{};
  if (text == "iid") return Resampling{.kind = ResamplingKind::iid};
  std::optional<std::string_view> block = block_text(text);
  if (!block) return std::nullopt;
  const std::size_t blank = block->find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view unit = block->substr(blank + 1);
  const auto length = number_in<std::int64_t>(block->substr(0, blank));
  if (!length || *length < 1 || (unit != "steps" && !(unit == "step" && *length == 1))) return std::nullopt;
  return Resampling{.kind = ResamplingKind::blocks, .block = static_cast<double>(*length)};
}

std::optional<Resampling> time_resampling(std::string_view text) {
  if (text == "as it is") return Resampling{};
  const std::optional<std::string_view> block = block_text(text);
  if (!block) return std::nullopt;
  const std::optional<double> length = parse_quantity(*block, Unit<Seconds>::names);
  if (!length || !(*length > 0)) return std::nullopt;
  return Resampling{.kind = ResamplingKind::blocks, .block = *length};
}

StepTrace::StepTrace(std::size_t columns, std::vector<double> values)
    : columns_(columns), values_(std::move(values)), means_(columns) {
  for (std::size_t i = 0; i < values_.size(); ++i) means_[i % columns] += values_[i];
  for (double& mean : means_) mean /= static_cast<double>(rows());
}

std::size_t row_of_step(const Resampling& how, std::size_t rows, std::uint64_t seed, std::uint32_t copy,
                        std::int64_t step) {
  const auto at = static_cast<std::uint64_t>(step);
  if (how.kind == ResamplingKind::as_it_is) {
    const bool draws = how.drawn_start || copy > 0;
    const std::uint64_t start = draws ? Stream(seed, "trace start", copy).below(rows) : 0;
    return (start + at) % rows;
  }
  const std::uint64_t block = how.kind == ResamplingKind::iid ? 1 : static_cast<std::uint64_t>(how.block);
  const auto row_in_block = [&](std::string_view purpose, std::uint32_t who, std::uint64_t place) {
    return Stream(seed, purpose, who, place / block).below(rows - block + 1) + place % block;
  };
  if (!how.drawn_sample) return row_in_block("trace", copy, at);
  const std::uint64_t size = std::max(block, rows * (rows - block) / (rows + block));
  const std::uint64_t row = Stream(seed, "trace", copy, at / block).below(size - block + 1) + at % block;
  return row_in_block("trace sample", 0, row);
}

std::vector<TraceColumn> trace_columns(std::size_t columns, std::size_t workers, bool drawn,
                                       std::uint64_t seed) {
  std::vector<TraceColumn> result(workers);
  std::vector<std::uint32_t> order;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const auto place = static_cast<std::uint32_t>(worker % columns),
               round = static_cast<std::uint32_t>(worker / columns);
    if (!drawn) {
      result[worker] = {.column = place, .copy = 0};
      continue;
    }
    if (place == 0)
      order = permutation(static_cast<std::uint32_t>(columns), Stream(seed, "trace column", round));
    result[worker] = {.column = order[place], .copy = round};
  }
  return result;
}

namespace {

using Row = std::pair<double, double>;

// The stretch of a run in which row i of the file has the date offset + row date. All dates are computed from
// the number of the stretch, so they are the same at every call.
struct Stretch {
  double offset = 0;
  double end = HUGE_VAL;
  bool repeats = false;  // the value before the first row is that of the last one
};

// The number of the period that contains `now`. The division may have been rounded up or down.
double turn_at(double period, double now) {
  double turn = std::max(0.0, std::floor(now / period) - 1);
  for (int more = 0; more < 2 && now >= (turn + 1) * period; ++more) ++turn;
  return turn;
}

Stretch stretch_at(const ProfileSpec& profile, double now, std::uint64_t seed, std::uint64_t who) {
  if (profile.resampling.kind == ResamplingKind::blocks) {
    const double block = profile.resampling.block, number = turn_at(block, now);
    const double from =
        Stream(seed, "profile", who, static_cast<std::uint64_t>(number)).uniform(0, profile.length() - block);
    return {.offset = number * block - from, .end = (number + 1) * block};
  }
  if (!profile.every) return {};
  const double period = profile.every->value, turn = turn_at(period, now);
  return {.offset = turn * period, .end = (turn + 1) * period, .repeats = turn > 0};
}

// The first row after `now`.
auto row_after(const ProfileSpec& profile, const Stretch& stretch, double now) {
  return std::ranges::upper_bound(profile.rows, now, {},
                                  [&](const Row& row) { return stretch.offset + row.first; });
}

}  // namespace

double ProfileSpec::length() const {
  if (every) return every->value;
  const auto gaps = static_cast<double>(rows.size()) - 1;
  return rows.back().first + (gaps > 0 ? (rows.back().first - rows.front().first) / gaps : 0);
}

bool concerns(const ProfileSpec& profile, std::int64_t worker) {
  if (profile.is_of_links()) return false;
  return profile.workers.empty() ? worker >= 0
                                 : std::ranges::find(profile.workers, worker) != profile.workers.end();
}

double value_at(const ProfileSpec& profile, double now, double usual, std::uint64_t seed, std::uint64_t who) {
  const Stretch stretch = stretch_at(profile, now, seed, who);
  const auto next = row_after(profile, stretch, now);
  if (next != profile.rows.begin()) return std::prev(next)->second;
  return stretch.repeats ? profile.rows.back().second : usual;
}

std::optional<double> next_row(const ProfileSpec& profile, double now, std::uint64_t seed,
                               std::uint64_t who) {
  const Stretch stretch = stretch_at(profile, now, seed, who);
  const auto next = row_after(profile, stretch, now);
  const double date = next == profile.rows.end() ? HUGE_VAL : stretch.offset + next->first;
  if (date < stretch.end) return date;
  if (stretch.end == HUGE_VAL) return std::nullopt;
  return profile.every && profile.resampling.kind == ResamplingKind::as_it_is
             ? stretch.end + profile.rows.front().first
             : stretch.end;
}

}  // namespace psim
