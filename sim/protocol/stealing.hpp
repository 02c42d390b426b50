// Work stealing: a worker that is through with its samples of a clock takes some of another's. After FlexRR
// (Harlap et al., Addressing the straggler problem for iterative convergent parallel ML, SoCC 2016): progress
// is told from worker to worker, the one that is behind answers with a small piece first, then with larger
// ones. Pieces are taken by who is through, not by who is ahead, and never taken back. Pure.
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

// What one worker knows. Every worker that is through with its own samples says so to all others, and with it
// how many pieces it has given to each; so all find out that a clock is over without asking.
class Stealing {
 public:
  // `batch` samples of each worker's clock are its own at first; `first_piece` of them make a first piece.
  Stealing(std::uint32_t workers, std::uint32_t me, std::int64_t batch, double first_piece);

  void begin(std::int64_t clock);
  std::int64_t clock() const { return clock_; }

  // `worker` is through with its samples of `clock`, having given `pieces` of them to this one, and wants
  // more. What is said of the next clock is kept until it begins; false if it is of no use any more, or not
  // yet.
  bool idle(std::uint32_t worker, std::int64_t clock, std::int64_t pieces);

  // A piece for the helper that has waited longest, off the end of this worker's own samples, when the last
  // `untouched` of these have not been begun. The second and later ones of a clock are twice as large; none
  // is more than an equal share of what is left for this worker and all who are through (guided
  // self-scheduling: Polychronopoulos, Kuck 1987), and a sample always stays.
  struct Piece {
    std::uint32_t helper;
    Range samples;  // of the batch
  };
  std::optional<Piece> give(std::int64_t untouched);

  // This worker is through with its own samples.
  void finish() { finished_ = true; }
  // A piece of `worker`'s is computed.
  void computed(std::uint32_t worker) { ++others_[worker].taken; }

  std::int64_t own() const { return own_; }  // samples of the batch that have stayed here
  std::int64_t given_to(std::uint32_t worker) const { return others_[worker].given; }
  bool is_idle(std::uint32_t worker) const { return others_[worker].idle; }
  // Everybody is through, and what was given to this worker is computed.
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
