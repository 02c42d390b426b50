#include "sim/evaluator.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "model/dataset.hpp"
#include "model/learner.hpp"

namespace psim {

Evaluator::Evaluator(const Learner& learner, const Dataset& set, const Target& target, Pool& pool)
    : learner_(learner), set_(set), target_(target), pool_(pool) {}

bool Evaluator::evaluate(CurvePoint point, std::shared_ptr<Assembly> weights) {
  curve_.push_back(point);
  CurvePoint* result = &curve_.back();
  tasks_.push_back(pool_.submit([this, result, weights = std::move(weights)] {
    const Values& values = weights->get();
    result->weights = hash_of(values);
    result->result = learner_.evaluate(values, set_);
  }));
  // A waiting task keeps a copy of the model alive. So the number of waiting tasks stays below the number of
  // threads.
  while (tasks_.size() >= pool_.threads()) {
    pool_.wait(tasks_.front());
    tasks_.pop_front();
  }
  if (!target_.given() || !target_.stop) return false;
  finish();
  return curve_.end() - find_reached() == target_.hold.value_or(1);
}

void Evaluator::finish() {
  for (const Pool::Handle& task : tasks_) pool_.wait(task);
  tasks_.clear();
}

bool Evaluator::reaches(const Evaluation& e) const {
  if (!target_.given()) return false;
  if (target_.accuracy && !(e.accuracy.value_or(0) >= *target_.accuracy)) return false;
  return !target_.loss || e.loss <= *target_.loss;
}

std::deque<CurvePoint>::const_iterator Evaluator::find_reached() const {
  const auto reaching = [this](const CurvePoint& p) { return reaches(p.result); };
  const std::int64_t hold = target_.hold.value_or(1);
  const auto row = std::ranges::search_n(curve_, hold, true, {}, reaching);
  return row.begin();
}

const CurvePoint* Evaluator::reached() const {
  const auto first = find_reached();
  return first == curve_.end() ? nullptr : &*first;
}

std::optional<double> Evaluator::last_miss() const {
  const auto first = find_reached();
  if (first == curve_.end() || first == curve_.begin()) return std::nullopt;
  return (first - 1)->at;
}

std::uint64_t hash_of(const Values& weights) { return XXH3_64bits(weights.raw(), weights.bytes()); }

}  // namespace psim
