// Work stealing: a worker that has finished its samples of a clock takes some of another's. After FlexRR
// (Harlap et al., Addressing the straggler problem for iterative convergent parallel ML, SoCC 2016): workers
// tell each other their progress, and a worker that is behind answers with a small piece first, then with
// larger ones. Unlike there, helpers have finished, instead of being ahead, and pieces are never taken back.
// Pure.
//
// When every worker is through, a helper pushes one gradient of all that it got, so a server cannot count
// pushes: a clock is complete with its samples. All workers are in one group, with W (W - 1) messages of
// progress a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "model/values.hpp"

namespace psim {

// One worker's knowledge. A worker that has finished its own samples tells all others, and with it how many
// pieces it has given to each. So all workers learn without asking that a clock is over.
class Stealing {
 public:
  // `batch` samples of each worker's clock are its own at first; `first_piece` of them make a first piece.
  Stealing(std::uint32_t workers, std::uint32_t me, std::int64_t batch, double first_piece);

  void begin(std::int64_t clock);
  std::int64_t clock() const { return clock_; }

  // `worker` has finished its samples of `clock`, has given `pieces` of them to this worker, and wants more.
  // A message about the next clock is kept until that begins. Returns false if the message is of no use: too
  // late, or too early.
  bool idle(std::uint32_t worker, std::int64_t clock, std::int64_t pieces);

  // A piece for the helper that has waited longest, off the end of this worker's own samples, of which the
  // last `untouched` have not been begun. Later pieces of a clock are twice as large as the first. No piece
  // is more than an equal share of the remaining samples for this worker and all that have finished (guided
  // self-scheduling: Polychronopoulos, Kuck 1987), and one sample always stays.
  struct Piece {
    std::uint32_t helper;
    Range samples;  // of the batch
  };
  std::optional<Piece> give(std::int64_t untouched);

  // This worker has finished its own samples.
  void finish() { finished_ = true; }
  // A piece of `worker`'s is computed.
  void computed(std::uint32_t worker) { ++others_[worker].taken; }

  std::int64_t own() const { return own_; }  // samples of the batch that have stayed here
  std::int64_t given_to(std::uint32_t worker) const { return others_[worker].given; }
  bool is_idle(std::uint32_t worker) const { return others_[worker].idle; }
  // All workers have finished, and this worker has computed all pieces that it was given.
  bool is_over() const;

 private:
  struct Other {
    bool idle = false;
    std::int64_t pieces = 0;  // that it says to have given
    std::int64_t taken = 0;   // of these
    std::int64_t given = 0;   // to it
  };
  struct Early {
    std::uint32_t worker;
    std::int64_t clock, pieces;
  };

  std::uint32_t me_;
  std::int64_t batch_, first_piece_;
  std::int64_t clock_ = -1, own_ = 0;
  bool finished_ = true;
  std::vector<Other> others_;          // by worker
  std::deque<std::uint32_t> helpers_;  // that wait, in the order in which they asked
  std::vector<Early> early_;           // of the next clock
};

}  // namespace psim
