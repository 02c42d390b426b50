#include "sim/protocol/stealing.hpp"

#include <algorithm>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {

Stealing::Stealing(Options options)
    : options_(options), pieces_(options.first_number), others_(options.workers) {}

void Stealing::begin(std::int64_t clock, std::int64_t samples) {
  clock_ = clock;
  own_ = samples;
  finished_ = false;
  open_.clear();
  for (Other& other : others_) other.given = 0;
  const auto is_of_no_use = [this](std::uint32_t worker) {
    const std::int64_t last = others_[worker].idle;
    return options_.same_clock ? last < clock_ : last <= clock_;
  };
  std::erase_if(asking_, is_of_no_use);
}

bool Stealing::idle(std::uint32_t worker, std::int64_t clock) {
  Other& other = others_[worker];
  if (clock <= other.left) return false;  // the helper sent it before it left
  other.finished = std::max(other.finished, clock);
  other.idle = clock;
  if (clock < clock_ || std::ranges::find(asking_, worker) != asking_.end()) return false;
  if (clock == clock_ && (finished_ || !options_.same_clock)) return false;
  asking_.push_back(worker);
  return !finished_ && can_help(clock);
}

void Stealing::leaves(std::uint32_t worker, std::int64_t clock) {
  others_[worker].left = clock;
  others_[worker].idle = -1;
  std::erase(asking_, worker);
}

std::int64_t Stealing::helpers() const {
  return std::ranges::count_if(others_, [this](const Other& other) { return can_help(other.idle); });
}

std::optional<Stealing::Piece> Stealing::give(std::int64_t untouched) {
  const std::int64_t left = std::min(untouched, own_ - 1);
  const auto next =
      std::ranges::find_if(asking_, [this](std::uint32_t worker) { return can_help(others_[worker].idle); });
  if (finished_ || next == asking_.end() || left <= 0) return std::nullopt;
  const std::uint32_t helper = *next;
  asking_.erase(next);
  const std::int64_t first = options_.first_piece, wanted = others_[helper].given++ == 0 ? first : 2 * first;
  const std::int64_t sharers = 1 + helpers();
  const std::int64_t count = std::min(wanted, (left + sharers - 1) / sharers);
  own_ -= count;
  expects(count > 0 && own_ > 0, "the owner keeps a sample");
  const Piece piece{pieces_++, helper, {static_cast<std::size_t>(own_), static_cast<std::size_t>(count)}};
  open_.emplace(piece.number, piece);
  return piece;
}

bool Stealing::returned(std::uint32_t helper, const std::vector<std::int64_t>& pieces) {
  const auto is_open = [&](std::int64_t number) {
    const auto piece = open_.find(number);
    return piece != open_.end() && piece->second.helper == helper;
  };
  if (pieces.empty() || !std::ranges::all_of(pieces, is_open)) return false;
  for (const std::int64_t number : pieces) open_.erase(number);
  return true;
}

std::vector<Range> Stealing::take_back(std::optional<std::uint32_t> helper) {
  std::vector<Range> ranges;
  for (auto piece = open_.begin(); piece != open_.end();) {
    if (helper && piece->second.helper != *helper) {
      ++piece;
      continue;
    }
    PSIM_PROBE(helper.has_value(), "a helper is gone with a piece");
    PSIM_PROBE(!helper, "a piece does not come back in time");
    ranges.push_back(piece->second.samples);
    piece = open_.erase(piece);
  }
  return ranges;
}

bool Stealing::has(std::uint32_t owner, std::int64_t clock, std::int64_t number) const {
  const Other& other = others_[owner];
  return clock == other.clock && std::ranges::find(other.pieces, number) != other.pieces.end();
}

void Stealing::computed(std::uint32_t owner, std::int64_t clock, std::int64_t number) {
  Other& other = others_[owner];
  if (has(owner, clock, number)) return;
  if (clock > other.clock) other.pieces.clear();
  other.clock = std::max(other.clock, clock);
  if (clock == other.clock) other.pieces.push_back(number);
}

std::vector<std::int64_t> Stealing::take_due(std::uint32_t owner) {
  Other& other = others_[owner];
  if (!has_finished(owner, other.clock)) return {};
  return std::exchange(other.pieces, {});
}

}  // namespace psim
