#include "sim/protocol/custom_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/protocol/consistency.hpp"

namespace psim {
namespace {

const std::vector<std::string> start_names{"clock",   "min_clock", "version", "computed_on", "pushed",
                                           "applied", "workers",   "k",       "staleness"},
    update_names{"pushes", "members",  "version", "min_clock", "distinct",
                 "least",  "harmonic", "workers", "k",         "staleness"},
    age_names{"age", "workers", "k", "staleness"}, work_names{"samples", "batches", "seconds"},
    weight_names = [] {
      std::vector<std::string> names = age_names;
      names.insert(names.end(), work_names.begin(), work_names.end());
      return names;
    }();

Formula parsed(std::string_view field, const std::string& text, const std::vector<std::string>& names) {
  try {
    return {text, names};
  } catch (const FormulaMistake& mistake) {
    throw CustomMistake{std::string(field), mistake};
  }
}

[[noreturn]] void refuse(std::string_view field, const Formula& formula, std::string message,
                         std::string help) {
  throw CustomMistake{std::string(field), {0, formula.text().size(), std::move(message), std::move(help)}};
}

bool uses_work(const Formula& weight) {
  return std::ranges::any_of(work_names, [&](const std::string& name) { return weight.uses(name); });
}

double number(std::int64_t value) { return static_cast<double>(value); }

std::array<double, 9> values(const StartView& at, const CustomNumbers& numbers) {
  return {number(at.clock),        number(at.clocks.slowest()), number(at.version),
          number(at.computed_on),  number(at.pushed),           number(at.applied()),
          number(numbers.workers), number(numbers.k),           number(numbers.staleness)};
}

std::array<double, 10> values(const CustomModel::Update& at, const CustomNumbers& numbers) {
  return {number(at.pushes),   number(at.members),       number(at.version), number(at.min_clock),
          number(at.distinct), number(at.least),         at.harmonic,        number(numbers.workers),
          number(numbers.k),   number(numbers.staleness)};
}

std::string is_false(const Formula& formula, const auto& values) {
  const std::string with = formula.with(values);
  return fmt::format("`{}` is false{}{}", formula.text(), with.empty() ? "" : ": ", with);
}

std::array<double, 4> values(std::int64_t age, const CustomNumbers& numbers) {
  return {number(age), number(numbers.workers), number(numbers.k), number(numbers.staleness)};
}

std::array<double, 7> values(const Push& push, std::int64_t age, const CustomNumbers& numbers) {
  constexpr double nanosecond = 1e-9;
  const auto [own, workers, k, staleness] = values(age, numbers);
  return {own,
          workers,
          k,
          staleness,
          number(push.samples * push.batches),
          number(push.batches),
          std::max(push.seconds, nanosecond)};
}

// The names that an expression uses decide what its worker waits for.
Gate gate_of(const Formula& start) {
  const auto uses = [&](std::string_view one, std::string_view other) {
    return start.uses(one) || start.uses(other);
  };
  return uses("version", "computed_on") ? Gate::version
         : uses("pushed", "applied")    ? Gate::own
         : uses("clock", "min_clock")   ? Gate::staleness
                                        : Gate::none;
}

}  // namespace

std::vector<CustomMistake> CustomModel::mistakes(const CustomTexts& texts, const CustomNumbers& numbers) {
  std::vector<CustomMistake> all;
  const auto collect = [&all](const auto& attempt) {
    try {
      attempt();
    } catch (const CustomMistake& mistake) {
      all.push_back(mistake);
    }
  };
  collect([&] { parsed("start", texts.start, start_names); });
  collect([&] { parsed("update", texts.update, update_names); });
  collect([&] { parsed("weight", texts.weight, weight_names); });
  collect([&] { parsed("too_late", texts.too_late, age_names); });
  if (all.empty()) collect([&] { CustomModel(texts, numbers); });
  return all;
}

CustomModel::CustomModel(const CustomTexts& texts, const CustomNumbers& numbers)
    : PlainModel(gate_of(parsed("start", texts.start, start_names)), numbers.workers),
      numbers_(numbers),
      start_(parsed("start", texts.start, start_names)),
      update_(parsed("update", texts.update, update_names)),
      weight_(parsed("weight", texts.weight, weight_names)),
      whole_(uses_work(weight_)),
      too_late_(parsed("too_late", texts.too_late, age_names)) {
  check_ages();
  check_group();
  check_gate();
}

void CustomModel::check_ages() const {
  if (is_too_late(0)) refuse("too_late", too_late_, "every push is too late", "a fresh push has age = 0");
  for (std::int64_t age = 0; age <= most_ages && !whole_; ++age) {
    const double value = weight(age);
    if (!is_too_late(age) && !(value > 0 && value <= 1e9))
      refuse("weight", weight_, fmt::format("a push of age = {} weighs {}", age, value),
             "a weight must be above 0; to ignore such a push, write too_late = \"age > ...\"");
  }
}

bool CustomModel::varies() const {
  return std::ranges::any_of(std::array{"members", "version", "min_clock", "distinct", "least", "harmonic"},
                             [this](const char* name) { return update_.uses(name); });
}

std::int64_t CustomModel::most_of_worker() const {
  constexpr std::int64_t many = 100;
  return update_.uses("least") || update_.uses("harmonic") ? many : 1;
}

void CustomModel::check_group() const {
  const std::int64_t most = most_of_worker() * numbers_.workers;
  for (std::int64_t pushes = 1; pushes <= most; ++pushes) {
    if (makes_update(evenly(pushes, numbers_.workers))) return;
  }
  refuse("update", update_,
         fmt::format("this is false for pushes = 1 to {}, so no update is ever made", most),
         "for example update = \"pushes >= k\"");
}

void CustomModel::check_gate() const {
  const WorkerClocks nobody_has_begun(1);
  const StartView first{.clocks = nobody_has_begun};
  if (!starts(first))
    refuse("start", start_, "no worker may start its first clock: " + why_not(first, {}), "");
  const auto [gate, drops_stale] = std::pair(shape().gate, shape().drops_stale);
  if (gate == Gate::version && !drops_stale)
    refuse("start", start_, "waiting for a newer version works only if every stale push is too late",
           "write too_late = \"age > 0\", or wait for the worker's own push: applied >= pushed");
  if (drops_stale && (gate == Gate::own || gate == Gate::staleness))
    refuse("start", start_, "this start rule does not work if every stale push is too late",
           "start = \"version > computed_on\", or \"true\"");
}

bool CustomModel::starts(const StartView& worker) const { return start_.holds(values(worker, numbers_)); }

std::string CustomModel::why_not(const StartView& view, Memory) const {
  return is_false(start_, values(view, numbers_));
}

bool CustomModel::makes_update(const Update& at) const { return update_.holds(values(at, numbers_)); }

std::string CustomModel::why_no_update(const ShardView& view, Memory) const {
  const Update at = update_of(view);
  if (at.pushes == 0 || makes_update(at)) return {};
  return fmt::format("{}; workers that take part: {} of {}", is_false(update_, values(at, numbers_)),
                     at.members, numbers_.workers);
}

double CustomModel::weight(std::int64_t age) const { return weight_.of(values({}, age, numbers_)); }

double CustomModel::weight_of(const Push& push, std::int64_t age) const {
  const auto with = values(push, age, numbers_);
  const double weight = weight_.of(with);
  if (!whole_ || (weight >= 0 && std::isfinite(weight))) return weight;
  throw std::runtime_error(fmt::format("consistency.weight: `{}` is {}, but a weight is a number from 0: {}",
                                       weight_.text(), weight, weight_.with(with)));
}

bool CustomModel::weighs_work(const CustomTexts& texts) {
  try {
    return uses_work(parsed("weight", texts.weight, weight_names));
  } catch (const CustomMistake&) {
    return false;
  }
}

bool CustomModel::is_too_late(std::int64_t age) const { return too_late_.holds(values(age, numbers_)); }

}  // namespace psim
