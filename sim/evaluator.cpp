#include "sim/evaluator.hpp"

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"

namespace psim {

Evaluator::Evaluator(const Learner& learner, const Dataset& set, const Target& target, Pool& pool)
    : learner_(learner), set_(set), target_(target), pool_(pool) {}

bool Evaluator::evaluate(CurvePoint point, std::shared_ptr<Assembly> weights) {
  curve_.push_back(point);
  Evaluation* result = &curve_.back().result;
  tasks_.push_back(pool_.submit(
      [this, result, weights = std::move(weights)] { *result = learner_.evaluate(weights->get(), set_); }));
  // A snapshot keeps a copy of the model alive, so no more wait than there are threads beside this one.
  while (tasks_.size() >= pool_.threads()) {
    pool_.wait(tasks_.front());
    tasks_.pop_front();
  }
  if (!target_.given() || !target_.stop) return false;
  finish();
  return reached() == &curve_.back();
}

void Evaluator::finish() {
  for (const Pool::Handle& task : tasks_) pool_.wait(task);
  tasks_.clear();
}

bool Evaluator::reaches(const Evaluation& e) const {
  if (!target_.given()) return false;
  if (target_.accuracy &&
      !(e.accuracy.value_or(mutant("no-accuracy-is-enough") ? 1 : 0) >= *target_.accuracy))
    return false;
  return !target_.loss || e.loss <= *target_.loss;
}

const CurvePoint* Evaluator::reached() const {
  const auto first = std::ranges::find_if(curve_, [this](const CurvePoint& p) { return reaches(p.result); });
  if (mutant("target-an-evaluation-late") && first != curve_.end() && first + 1 != curve_.end())
    return &*(first + 1);
  return first == curve_.end() ? nullptr : &*first;
}

}  // namespace psim
