#include "sim/protocol/stealing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/mutant.hpp"

namespace psim {

Stealing::Stealing(std::uint32_t workers, std::uint32_t me, std::int64_t batch, double first_piece)
    : me_(me),
      batch_(batch),
      first_piece_(static_cast<std::int64_t>(std::ceil(first_piece * static_cast<double>(batch)))),
      others_(workers) {}

void Stealing::begin(std::int64_t clock) {
  clock_ = clock;
  own_ = batch_;
  finished_ = false;
  others_.assign(others_.size(), {});
  helpers_.clear();
  for (const Early& early : std::exchange(early_, {})) idle(early.worker, early.clock, early.pieces);
}

bool Stealing::idle(std::uint32_t worker, std::int64_t clock, std::int64_t pieces) {
  if (clock > clock_) early_.push_back({worker, clock, pieces});
  if (clock != clock_) return false;
  others_[worker].idle = true;
  others_[worker].pieces = pieces;
  if (!finished_) helpers_.push_back(worker);
  return !finished_;
}

std::optional<Stealing::Piece> Stealing::give(std::int64_t untouched) {
  const std::int64_t left = std::min(untouched, own_ - (mutant("gives-its-last-sample") ? 0 : 1));
  if (helpers_.empty() || left <= 0) return std::nullopt;
  const std::uint32_t helper = helpers_.front();
  helpers_.pop_front();
  const std::int64_t wanted =
      others_[helper].given++ == 0 ? first_piece_ : (mutant("pieces-do-not-grow") ? 1 : 2) * first_piece_;
  const std::int64_t sharers = 1 + std::ranges::count(others_, true, &Other::idle);
  const std::int64_t count = std::min(wanted, (left + sharers - 1) / sharers);
  own_ -= count;
  return Piece{helper, {static_cast<std::size_t>(own_), static_cast<std::size_t>(count)}};
}

bool Stealing::is_over() const {
  if (!finished_) return false;
  for (std::uint32_t w = 0; w < others_.size(); ++w) {
    if (w != me_ && (!others_[w].idle || others_[w].taken < others_[w].pieces)) return false;
  }
  return true;
}

}  // namespace psim
