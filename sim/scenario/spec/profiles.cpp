#include "sim/scenario/spec/profiles.hpp"

#include <algorithm>
#include <cmath>

#include "model/random.hpp"

namespace psim {
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
