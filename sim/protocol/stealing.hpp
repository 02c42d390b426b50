// Work stealing: a worker that has finished its samples of a clock computes some samples of another worker.
// After FlexRR (Harlap et al., Addressing the straggler problem for iterative convergent parallel ML, SoCC
// 2016): workers tell each other their progress, and a worker that is behind answers with a small piece
// first, then with larger pieces. Pure.
//
// Decisions:
// - The owner of samples answers for them. A helper computes pieces of an owner's clock and keeps their
//   gradient until the owner has finished its own samples. Then the helper sends that gradient to the owner,
//   and the owner pushes one gradient of its whole batch. So servers count pushes as usual, each sample
//   counts once under every model, and a third worker never waits for a helper.
// - An owner takes back the pieces of a helper that is gone, leaves or refuses them. Where messages may get
//   lost, it also takes back pieces that the helper has not returned within recovery.retry after the end of
//   the owner's own samples. The owner computes these pieces itself and ignores later answers.
// - Helpers: where only fresh pushes count, a worker that has finished the same clock may help. A push for an
//   older clock would come too late, and the helper has the same weights. Under other models a worker that is
//   at least one clock ahead may help (in FlexRR: a share of a clock ahead). It interrupts its own step for a
//   piece, and computes the piece on its newest weights, as helpers in FlexRR do.
// - Two kinds of steps are not shared. With local steps, only the worker itself has the weights of a step. A
//   cancelled step has no use for the results of helpers.
// - A clock costs W (W - 1) messages of progress.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "model/values.hpp"

namespace psim {

// The knowledge of one worker.
class Stealing {
 public:
  struct Options {
    std::uint32_t workers = 1, me = 0;
    std::int64_t first_piece = 1;   // samples
    bool same_clock = true;         // helpers are in the same clock, else ahead of it
    std::int64_t first_number = 0;  // of this life's pieces
  };
  explicit Stealing(Options options);

  // The clock begins; all `samples` samples belong to this worker at first.
  void begin(std::int64_t clock, std::int64_t samples);
  std::int64_t clock() const { return clock_; }

  // `worker` has finished its samples of `clock`, and wants others. Returns whether this worker may give it
  // some now.
  bool idle(std::uint32_t worker, std::int64_t clock);
  // `worker` has finished its last clock, `clock`, and computes nothing more.
  void leaves(std::uint32_t worker, std::int64_t clock);
  // Whether `worker` can help with the current clock after it has finished `clock`.
  bool can_help(std::int64_t clock) const { return options_.same_clock ? clock == clock_ : clock > clock_; }

  // A piece for the helper that has waited longest. It comes from the end of this worker's own samples; the
  // last `untouched` of them have not been begun. Later pieces of a clock are twice as large as the first. A
  // piece is at most an equal share of the remaining samples for this worker and all that can help (guided
  // self-scheduling: Polychronopoulos, Kuck 1987), and one sample always stays.
  struct Piece {
    std::int64_t number;
    std::uint32_t helper;
    Range samples;  // of the batch
  };
  std::optional<Piece> give(std::int64_t untouched);

  // This worker has finished its own samples.
  void finish() { finished_ = true; }
  // `helper` returns the gradient of these pieces. False: one of the pieces is not open any more, and all are
  // ignored.
  bool returned(std::uint32_t helper, const std::vector<std::int64_t>& pieces);
  // Whether other workers still have pieces.
  bool is_waiting() const { return !open_.empty(); }
  const std::map<std::int64_t, Piece>& open() const { return open_; }
  // Open pieces that this worker has to compute itself: all pieces of one helper, or all open pieces.
  std::vector<Range> take_back(std::optional<std::uint32_t> helper);

  std::int64_t own() const { return own_; }  // samples of the batch that this worker keeps

  // The helper's side. Whether this worker has computed this piece of `owner` and not yet returned it; the
  // piece may come twice.
  bool has(std::uint32_t owner, std::int64_t clock, std::int64_t number) const;
  // This worker has computed a piece of `owner`.
  void computed(std::uint32_t owner, std::int64_t clock, std::int64_t number);
  bool has_finished(std::uint32_t owner, std::int64_t clock) const {
    return others_[owner].finished >= clock;
  }
  bool has_pieces_of(std::uint32_t owner) const { return !others_[owner].pieces.empty(); }
  // The pieces to return to `owner`, if it has finished that clock. Pieces of older clocks are forgotten.
  std::vector<std::int64_t> take_due(std::uint32_t owner);
  std::int64_t clock_of_pieces(std::uint32_t owner) const { return others_[owner].clock; }

 private:
  struct Other {
    std::int64_t finished = -1;             // its last finished clock, as far as this worker knows
    std::int64_t idle = -1;                 // the last clock that it reported as finished
    std::int64_t left = -1;                 // the clock that it reported when it said that it leaves
    std::int64_t given = 0;                 // pieces given to it in this clock
    std::int64_t clock = -1;                // the clock of its pieces that this worker has computed
    std::vector<std::int64_t> pieces = {};  // the numbers of these pieces
  };
  std::int64_t helpers() const;

  Options options_;
  std::int64_t clock_ = -1, own_ = 0, pieces_ = 0;
  bool finished_ = true;
  std::vector<Other> others_;           // by worker
  std::deque<std::uint32_t> asking_;    // waiting helpers, in the order in which they asked
  std::map<std::int64_t, Piece> open_;  // by number
};

}  // namespace psim
