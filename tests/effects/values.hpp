// The values that psim_effects gives a field: other values than its default, from its declaration.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/scenario/fields/field_list.hpp"
#include "tests/effects/surroundings.hpp"

namespace psim::test {

// Values of fields that hold text, which no range describes.
inline const std::map<std::string, Texts> texts{
    {"consistency.start", {"\"clock - min_clock <= 0\"", "\"applied >= pushed\""}},
    {"consistency.update", {"\"pushes >= 2\""}},
    {"consistency.weight", {"\"1 / (1 + age)\""}},
    {"consistency.too_late", {"\"age >= 1\"", "\"age >= 2\""}},
    {"consistency.late", {"\"cancel\"", "\"drop\"", "\"next\""}},
    {"consistency.staleness_schedule", {"[[0, 0]]", "[[2, 0]]"}},
    {"training.warmup_steps", {"2", "3"}},
    {"fault.nodes", {"[\"worker 1\"]", "[\"server 0\"]"}},
    {"fault.of", {"\"worker 2\""}},
    {"fault.messages", {"[\"push\"]", "[\"weights\"]"}},
    {"fault.between", {"[[\"worker 1\"], [\"server 0\"]]"}},
    {"fault.when", {"\"loss < 0.6\"", "\"updates >= 3\""}},
    {"profile.nodes", {"[\"worker 1\"]"}},
    {"profile.file", {"\"slower.csv\""}},
    {"profile.resample", {"\"blocks of 2 ms\""}},
    {"compute.trace", {"\"other.csv\""}},
    {"compute.trace_resample", {"\"blocks of 2 steps\""}},
    {"group.name", {"\"c\""}},
    {"group.set", {"[\"training.batch_size = 2\"]"}},
    {"model.layers", {"[4, 5, 2]"}},
    {"model.arrays", {"[60, 40]"}},
    {"model.work", {"[3, 1]"}},
    {"cluster.network.hosts",
     {"[\"node-9\", \"node-8\", \"node-7\", \"node-6\", \"node-5\", \"node-4\", \"node-3\"]"}},
};

inline std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", text); }

// Other values than the default that the field's declaration allows.
class Values {
 public:
  explicit Values(const DescribedField& field) : info_(field.info), usual_(field.value.value_or("")) {
    if (const auto given = texts.find(field.path()); given != texts.end()) {
      values_ = given->second;
      return;
    }
    std::visit([this](const auto& target) { add(target); }, field.target);
  }
  const Texts& all() const { return values_; }

 private:
  void put(std::string text) {
    if (text != usual_ && std::ranges::find(values_, text) == values_.end())
      values_.push_back(std::move(text));
  }
  void number(double value, auto&& as_text) {
    if (value < info_.min || value > info_.max || (info_.above_min && value == info_.min) ||
        (info_.below_max && value == info_.max))
      return;
    put(as_text(value));
  }
  void integers(std::int64_t usual) {
    for (const std::int64_t value : {2 * usual, usual + 1, usual / 2, std::int64_t{2}, std::int64_t{3},
                                     std::int64_t{1}, std::int64_t{0}})
      number(static_cast<double>(value),
             [](double v) { return std::to_string(static_cast<std::int64_t>(v)); });
  }
  void numbers(double usual) {
    for (const double value : {2 * usual, usual / 2, 0.3, 0.6, 3.0, 1e-9, 1e6, 0.0}) {
      if (value != usual) number(value, [](double v) { return shortest(v); });
    }
  }
  template <class Quantity>
  void quantities(double usual, std::initializer_list<double> others) {
    const auto put_one = [this](double value) {
      number(value, [](double v) { return in_quotes(format_quantity(Quantity{v})); });
    };
    if (usual > 0) {
      for (const double times : {2.0, 0.5, 100.0, 0.01}) put_one(times * usual);
    }
    for (const double value : others) put_one(value);
  }
  void amount(Seconds s) { quantities<Seconds>(s.value, {0.003, 0.0005, 0.02}); }
  void amount(Bytes b) { quantities<Bytes>(b.value, {200, 3000, 1e9}); }
  void amount(BytesPerSecond b) { quantities<BytesPerSecond>(b.value, {1e6, 1e5, 1e9}); }
  void amount(FlopsPerSecond f) { quantities<FlopsPerSecond>(f.value, {1e6}); }
  void amount(Watts w) { quantities<Watts>(w.value, {70}); }
  void amount(std::int64_t n) { integers(n); }
  void amount(double x) { numbers(x); }
  void amount(bool) { put("true"), put("false"); }
  void amount(const Period&) { put("\"2 updates\""), put("\"3ms\""); }
  void amount(const EvaluationPeriod&) { put("\"2 updates\""), put("\"3ms\""), put("\"24 samples\""); }
  template <class T>
  requires requires(Values& all, T value) { all.amount(value); }
  void add(T* target) { amount(*target); }
  template <class T>
  void add(std::optional<T>* target) {
    amount(target->value_or(T{}));
  }
  void add(std::vector<std::int64_t>*) { put("[1]"), put("[0, 1]"), put("[2, 2]"), put("[3, 3, 3]"); }
  void add(std::vector<double>*) { put("[1, 3]"); }
  void add(Speeds*) { put("\"3Gf\""), put("\"1Mf\""), put("[\"1Gf\", \"2Gf\"]"); }
  void add(const ChoiceField& choice) {
    for (const Choice& one : choice.choices) put(in_quotes(one.name));
  }
  void add(const auto*) {}  // texts

  const FieldInfo& info_;
  std::string usual_;
  Texts values_;
};

}  // namespace psim::test
