// Work stealing: a worker that is through with its samples of a clock computes some of another's. After
// FlexRR (Harlap et al., Addressing the straggler problem for iterative convergent parallel ML, SoCC 2016):
// workers tell each other their progress, and a worker that is behind answers with a small piece first, then
// with larger ones. Pure.
//
// Decisions:
// - Whose samples they are answers for them. A helper sends the gradient of all pieces that it has of a clock
//   to their owner when that is through with its own samples, and the owner pushes one gradient of its whole
//   batch. So servers count pushes as ever, each sample counts once under every model, and no third worker
//   ever waits for a helper.
// - An owner takes back pieces of a helper that is gone, that leaves, that refuses them, or, where messages
// may
//   get lost, that does not answer within recovery.retry of the end of the owner's own samples. It computes
//   them itself; what comes later is ignored.
// - Who may help: where only fresh pushes count, a worker that has finished the same clock, because a push
// for
//   an older one would come too late; it has the same weights. Elsewhere a worker that is ahead by a clock at
//   least (in FlexRR by a share of one). It interrupts its own step for a piece, and computes it on the
//   newest weights that it has, as helpers do there.
// - A step that has local steps begins each with weights that only its worker has; and a step that is
//   cancelled has no use for what others compute of it. Neither is shared.
// - A clock costs W (W - 1) messages of progress.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "model/values.hpp"

namespace psim {

// One worker's knowledge.
class Stealing {
 public:
  struct Options {
    std::uint32_t workers = 1, me = 0;
    std::int64_t first_piece = 1;   // samples
    bool same_clock = true;         // helpers are in the same clock, else ahead of it
    std::int64_t first_number = 0;  // of this life's pieces
  };
  explicit Stealing(Options options);

  // `samples` samples of the clock are its own at first.
  void begin(std::int64_t clock, std::int64_t samples);
  std::int64_t clock() const { return clock_; }

  // `worker` has finished its samples of `clock`, and wants others. Returns whether this worker may give it
  // some now.
  bool idle(std::uint32_t worker, std::int64_t clock);
  // `worker`, whose last clock is this one, computes nothing any more.
  void leaves(std::uint32_t worker, std::int64_t clock);
  // Whether `worker` can help with the clock in hand after it has finished `clock`.
  bool can_help(std::int64_t clock) const { return options_.same_clock ? clock == clock_ : clock > clock_; }

  // A piece for the helper that has waited longest, off the end of this worker's own samples, of which the
  // last `untouched` have not been begun. Later pieces of a clock are twice as large as the first. No piece
  // is more than an equal share of the remaining samples for this worker and all that can help (guided
  // self-scheduling: Polychronopoulos, Kuck 1987), and one sample always stays.
  struct Piece {
    std::int64_t number;
    std::uint32_t helper;
    Range samples;  // of the batch
  };
  std::optional<Piece> give(std::int64_t untouched);

  // This worker has finished its own samples.
  void finish() { finished_ = true; }
  // `helper` sends what came of these pieces. False: one of them is not open any more, and all are ignored.
  bool returned(std::uint32_t helper, const std::vector<std::int64_t>& pieces);
  // Pieces that others have.
  bool is_waiting() const { return !open_.empty(); }
  const std::map<std::int64_t, Piece>& open() const { return open_; }
  // Open pieces that this worker has to compute itself: all of a helper's, or all there are.
  std::vector<Range> take_back(std::optional<std::uint32_t> helper);

  std::int64_t own() const { return own_; }  // samples of the batch that have stayed here

  // The other side. A piece of `owner`'s that this worker has computed, and not yet returned; it may come
  // twice.
  bool has(std::uint32_t owner, std::int64_t clock, std::int64_t number) const;
  // This worker has computed a piece of `owner`'s.
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
    std::int64_t finished = -1;             // its last clock, as far as it has said
    std::int64_t idle = -1;                 // the one that it said last
    std::int64_t left = -1;                 // the same, when it said that it leaves
    std::int64_t given = 0;                 // pieces to it, in this clock
    std::int64_t clock = -1;                // of its pieces here
    std::vector<std::int64_t> pieces = {};  // that are computed here
  };
  std::int64_t helpers() const;

  Options options_;
  std::int64_t clock_ = -1, own_ = 0, pieces_ = 0;
  bool finished_ = true;
  std::vector<Other> others_;           // by worker
  std::deque<std::uint32_t> asking_;    // that wait, in the order in which they asked
  std::map<std::int64_t, Piece> open_;  // by number
};

}  // namespace psim
