#include "sim/protocol/work.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace psim {

Sizes share_out(std::int64_t total, const std::vector<double>& speeds) {
  Sizes shares(speeds.size(), 0);
  std::vector<std::size_t> open(speeds.size());  // workers with a share of at least 1 by their speed
  std::iota(open.begin(), open.end(), std::size_t{0});
  std::vector<double> quota(speeds.size());
  std::int64_t left = total;
  for (bool changed = true; changed;) {
    double sum = 0;
    for (const std::size_t i : open) sum += speeds[i];
    for (const std::size_t i : open) quota[i] = static_cast<double>(left) * (speeds[i] / sum);
    const auto too_slow = [&](std::size_t i) { return quota[i] < 1; };
    for (const std::size_t i : open) shares[i] = too_slow(i) ? 1 : shares[i];
    const auto count = static_cast<std::int64_t>(std::erase_if(open, too_slow));
    left -= count;
    changed = count > 0;
  }
  for (const std::size_t i : open) {
    shares[i] = static_cast<std::int64_t>(std::floor(quota[i]));
    left -= shares[i];
  }
  std::ranges::stable_sort(open, std::greater{},
                           [&](std::size_t i) { return quota[i] - std::floor(quota[i]); });
  for (std::size_t k = 0; left > 0; ++k, --left) ++shares[open[k]];
  return shares;
}

namespace {

// Workers that take no part have no share. `speeds`: by worker.
Sizes share_out_among(std::int64_t total, const std::vector<double>& speeds,
                      const std::vector<bool>& members) {
  std::vector<double> of_members;
  for (std::size_t w = 0; w < speeds.size(); ++w) {
    if (members[w]) of_members.push_back(speeds[w]);
  }
  Sizes sizes(speeds.size(), 0);
  if (of_members.empty()) return sizes;
  const Sizes parts = share_out(total, of_members);
  for (std::size_t w = 0, i = 0; w < sizes.size(); ++w) {
    if (members[w]) sizes[w] = parts[i++];
  }
  return sizes;
}

}  // namespace

Sizes share_among(const Sizes& sizes, const std::vector<bool>& members) {
  std::int64_t total = 0, known = 0, of_known = 0;
  bool as_before = true;
  for (std::size_t w = 0; w < sizes.size(); ++w) {
    total += sizes[w];
    as_before = as_before && members[w] == (sizes[w] > 0);
    if (!members[w] || sizes[w] == 0) continue;
    ++known;
    of_known += sizes[w];
  }
  if (as_before || std::ranges::find(members, true) == members.end()) return sizes;
  const double mean = known > 0 ? static_cast<double>(of_known) / static_cast<double>(known) : 1.0;
  std::vector<double> weights;
  for (const std::int64_t size : sizes) weights.push_back(size > 0 ? static_cast<double>(size) : mean);
  return share_out_among(total, weights, members);
}

Balancer::Balancer(Options options)
    : options_(std::move(options)),
      times_(options_.first.size()),
      last_clock_(options_.first.size(), -1),
      takes_part_(options_.first.size(), true),
      decided_at_(options_.begun) {}

Balancer::Assignments Balancer::report(std::uint32_t worker, std::int64_t clock,
                                       std::optional<double> seconds_per_sample,
                                       std::optional<std::int64_t> known, double now) {
  const bool is_news = clock > last_clock_[worker];
  if (is_news && seconds_per_sample) {
    std::optional<double>& mean = times_[worker];
    mean = mean ? options_.smoothing * *seconds_per_sample + (1 - options_.smoothing) * *mean
                : *seconds_per_sample;
    last_clock_[worker] = clock;
  }
  if (!options_.in_step) {
    if (is_news && ++reports_ >= members()) {
      if (Assignments all = decide_apart(); !all.empty()) return all;
    }
    if (decided_.empty() || known >= decided_.begin()->first) return {};
    return {{worker, decided_.begin()->first, decided_.begin()->second}};
  }
  const auto made = decided_.find(clock);
  if (made != decided_.end()) return {{worker, clock, made->second}};
  constexpr double times = 10;
  const double wait = std::min(options_.patience.value_or(0) + times * (now - decided_at_), options_.longest);
  Round& round = rounds_.try_emplace(clock, Round{.until = now + wait}).first->second;
  round.reported.insert(worker);
  return is_complete(round) ? decide(clock, now) : Assignments{};
}

bool Balancer::is_complete(const Round& round) const {
  for (std::uint32_t w = 0; w < takes_part_.size(); ++w) {
    if (takes_part_[w] && !round.reported.contains(w)) return false;
  }
  return true;
}

std::int64_t Balancer::members() const { return std::ranges::count(takes_part_, true); }

// A worker without a known time counts as the mean of the known ones; if a worker takes no time at all, all
// workers count as equally fast.
SharedSizes Balancer::shares() const {
  double sum = 0;
  std::int64_t known = 0;
  bool measurable = true;
  for (std::size_t w = 0; w < times_.size(); ++w) {
    if (!takes_part_[w] || !times_[w]) continue;
    measurable = measurable && *times_[w] > 0;
    if (measurable) sum += 1 / *times_[w];
    ++known;
  }
  measurable = measurable && known > 0;
  const double mean = measurable ? sum / static_cast<double>(known) : 1.0;
  std::vector<double> speeds;
  std::int64_t total = 0;
  for (std::size_t w = 0; w < times_.size(); ++w) {
    total += options_.first[w];
    speeds.push_back(measurable && takes_part_[w] && times_[w] ? 1 / *times_[w] : mean);
  }
  return std::make_shared<Sizes>(share_out_among(total, speeds, takes_part_));
}

Balancer::Assignments Balancer::decide(std::int64_t clock, double now) {
  decided_at_ = now;
  constexpr std::size_t remembered = 1000;
  const SharedSizes sizes = shares();
  Assignments all;
  for (const std::uint32_t w : rounds_.at(clock).reported) all.push_back({w, clock, sizes});
  rounds_.erase(clock);
  decided_.insert_or_assign(clock, sizes);
  const std::size_t most = options_.patience ? remembered : 1;
  if (decided_.size() > most) decided_.erase(decided_.begin());
  return all;
}

// None if nothing changes.
Balancer::Assignments Balancer::decide_apart() {
  reports_ = 0;
  const SharedSizes sizes = shares();
  const bool is_first = decided_.empty();
  if (*sizes == (is_first ? options_.first : *decided_.begin()->second)) return {};
  const std::int64_t number = is_first ? options_.decisions + 1 : decided_.begin()->first + 1;
  decided_.clear();
  decided_.emplace(number, sizes);
  Assignments all;
  for (std::uint32_t w = 0; w < takes_part_.size(); ++w) {
    if (takes_part_[w]) all.push_back({w, number, sizes});
  }
  return all;
}

Balancer::Assignments Balancer::set_members(const std::vector<bool>& members, double now) {
  if (members == takes_part_) return {};
  takes_part_ = members;
  if (!options_.in_step) return decide_apart();
  return decide_those(now, [this](const Round& round) { return is_complete(round); });
}

Balancer::Assignments Balancer::decide_those(double now, const std::function<bool(const Round&)>& is_due) {
  Assignments all;
  for (auto round = rounds_.begin(); round != rounds_.end();) {
    const auto& [clock, open] = *round++;  // the decision removes the round
    if (!is_due(open)) continue;
    const Assignments some = decide(clock, now);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::optional<double> Balancer::next() const {
  std::optional<double> first;
  if (!options_.patience) return first;
  for (const auto& [clock, round] : rounds_) {
    first = std::min(first.value_or(round.until), round.until);
  }
  return first;
}

Balancer::Assignments Balancer::overdue(double now) {
  if (!options_.patience) return {};
  return decide_those(now, [now](const Round& round) { return !(round.until > now); });
}

}  // namespace psim
