#include "sim/nodes/job/corrupt_pushes.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "model/base/random.hpp"
#include "model/parameters.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

template <class Scalar>
void corrupt(std::span<Scalar> values, const FaultSpec& fault, Stream& noise) {
  const double factor = fault.factor.value_or(1);
  const auto each = [values](auto&& change) {
    for (Scalar& value : values) value = static_cast<Scalar>(change(value));
  };
  switch (fault.how) {
    case Corruption::sign: return each([factor](double value) { return -factor * value; });
    case Corruption::scale: return each([factor](double value) { return factor * value; });
    case Corruption::constant: return each([factor](double) { return factor; });
    case Corruption::copy: return;
    case Corruption::noise: break;
  }
  double squares = 0;
  for (const double value : values) squares += value * value;
  const double deviation = factor * std::sqrt(squares / static_cast<double>(values.size()));
  each([&](double value) { return value + deviation * noise.normal(); });
}

}  // namespace

CorruptPushes::CorruptPushes(const JobPlan& plan) : plan_(plan), in_force_(plan.workers()) {
  for (const FaultSpec& fault : plan.scenario.faults) {
    if (fault.how == Corruption::copy) copied_[source_of(fault)];
  }
}

std::uint32_t CorruptPushes::source_of(const FaultSpec& fault) const {
  return *node_named(plan_.cluster(), fault.of) - plan_.first_worker();
}

void CorruptPushes::set(std::uint32_t worker, const FaultSpec& fault, bool begins) {
  std::vector<const FaultSpec*>& faults = in_force_[worker];
  if (begins) faults.push_back(&fault);
  else faults.erase(std::ranges::find(faults, &fault));
}

std::shared_ptr<Values> CorruptPushes::pushed(std::uint32_t worker, std::int64_t clock, double now,
                                              const std::shared_ptr<Values>& computed) {
  if (!computed) return nullptr;
  remember(worker, now, *computed);
  if (!PSIM_PROBE(!in_force_[worker].empty(), "a worker pushes wrong values")) return computed;
  auto result = std::make_shared<Values>(*computed);
  Stream noise(static_cast<std::uint64_t>(plan_.scenario.seed), "corrupt", worker,
               static_cast<std::uint64_t>(clock));
  for (const FaultSpec* fault : in_force_[worker]) {
    const Values* other = fault->how == Corruption::copy ? copied(*fault, now) : nullptr;
    if (PSIM_PROBE(other != nullptr, "a worker pushes what another has computed"))
      result->copy_from(*other, 0, other->size(), 0);
    with_scalar(result->precision(),
                [&](auto zero) { corrupt(result->as<decltype(zero)>(), *fault, noise); });
  }
  round_to(plan_.precision(), *result, plan_.loss_scale());
  return result;
}

// A copy of the values: an all-reduce changes them in place.
void CorruptPushes::remember(std::uint32_t worker, double now, const Values& computed) {
  const auto found = copied_.find(worker);
  if (found == copied_.end()) return;
  Computed& last = found->second;
  if (last.at < now) last.earlier = std::move(last.newest);
  last.at = now;
  last.newest = std::make_shared<const Values>(computed);
}

const Values* CorruptPushes::copied(const FaultSpec& fault, double now) const {
  const Computed& last = copied_.at(source_of(fault));
  return (last.at < now ? last.newest : last.earlier).get();
}

}  // namespace psim
