// Delay compensation (DC-ASGD; Zheng et al., ICML 2017): the weights that workers compute on, and the
// correction of late gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "model/values.hpp"
#include "sim/protocol/message.hpp"

namespace psim {

class DelayCompensation {
 public:
  struct Rule {
    double strength = 0;  // lambda of equation 10; 0: gradients stay as they are
    double decay = 0;     // of the mean square (equation 14) that divides lambda; 0: nothing divides lambda
  };
  DelayCompensation() = default;
  // `count` values of a shard; no precision: a phantom model.
  DelayCompensation(Rule rule, std::size_t workers, std::size_t count, std::optional<Precision> precision);

  bool is_on() const { return rule_.strength > 0; }
  bool adapts() const { return rule_.decay > 0; }
  // Worker number `worker` may compute on these weights from now on.
  void was_sent(std::size_t worker, const Slice& weights);
  // An estimate of the gradient at `now`: a first-order step from the weights on which it was computed, with
  // g * g for the diagonal of the Hessian. The gradient stays unchanged if the server no longer has these
  // weights, e.g. after a crash that undid their version.
  Slice compensated(const Push& push, std::size_t worker, const Values& now);

  // The compensation of these values only.
  DelayCompensation part(Range range) const;

  const Values& mean_square() const { return mean_square_; }
  void set_mean_square(Values values) { mean_square_ = std::move(values); }
  // How many other versions than `current` are kept.
  std::size_t versions_beside(const Slice& current) const;

 private:
  const Slice* base_of(const Push& push, std::size_t worker) const;

  Rule rule_;
  std::vector<std::deque<Slice>> sent_;  // by worker: the weights that it may compute on, oldest first
  Values mean_square_;                   // of gradients
};

}  // namespace psim
