// Reads [tune] of the file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/numerics/functions.hpp"
#include "sim/scenario/axis_text.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/number_in.hpp"
#include "sim/scenario/tune.hpp"

namespace psim {
namespace {

template <class Choice>
struct Named {
  const char* name;
  Choice choice;
};
constexpr Named<TuneMethod> methods[] = {
    {"grid", TuneMethod::grid}, {"random", TuneMethod::random}, {"halving", TuneMethod::halving}};
constexpr Named<TuneMeasure> measures[] = {{"time-to-target", TuneMeasure::time_to_target},
                                           {"loss", TuneMeasure::loss},
                                           {"accuracy", TuneMeasure::accuracy}};

class TuneReader {
 public:
  TuneReader(const Document& document, toml::table& table, Diagnostics& diagnostics)
      : table_(table), base_(document.root), diagnostics_(diagnostics) {
    base_.erase("compare");
    base_.erase("tune");
  }

  TuneSpec read() {
    const toml::node* target = base_.at_path("training.target").node();
    spec_.measure = target != nullptr && target->is_table() && !target->as_table()->empty()
                        ? TuneMeasure::time_to_target
                        : TuneMeasure::loss;
    for (auto&& [key, value] : table_) read_key(std::string(key.str()), place_of(key.source()), value);
    if (spec_.seeds.empty()) spec_.seeds = {1001, 1002, 1003};
    check_together();
    return std::move(spec_);
  }

 private:
  void wrong(const Place& place, std::string message, std::string label, std::string help) {
    diagnostics_.add({"tune", place, std::move(message), std::move(label), std::move(help)});
  }

  void read_key(const std::string& key, const Place& place, toml::node& value) {
    if (key == "method") return read_choice(methods, spec_.method, key, value);
    if (key == "measure") return read_choice(measures, spec_.measure, key, value);
    if (key == "seeds") return read_seeds(value);
    if (key != "trials") return read_field(key, place, value);
    const auto trials = value.value_exact<std::int64_t>();
    if (!trials || *trials < 2 || *trials > 1000)
      wrong(place_of(value.source()), "`trials` is not a number of trials", "expected 2 to 1000",
            "the number of settings that each arm tries");
    else spec_.trials = *trials;
  }

  template <class Choice, std::size_t n>
  void read_choice(const Named<Choice> (&names)[n], Choice& into, const std::string& key,
                   const toml::node& value) {
    const std::string text = value.value_or(std::string());
    const auto found = std::ranges::find(names, text, &Named<Choice>::name);
    if (found != std::end(names)) {
      into = found->choice;
      return;
    }
    std::string all;
    for (const Named<Choice>& one : names) all += (all.empty() ? "" : ", ") + std::string(one.name);
    wrong(place_of(value.source()), fmt::format("`{}` is not a {} of [tune]", text, key), "not known here",
          "known: " + all);
  }

  void read_seeds(const toml::node& value) {
    const toml::array* list = value.as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto seed = list->get(i)->value_exact<std::int64_t>();
      if (seed && *seed >= 0 && std::ranges::find(spec_.seeds, *seed) == spec_.seeds.end())
        spec_.seeds.push_back(*seed);
      else list = nullptr;
    }
    if (list == nullptr || list->empty())
      wrong(place_of(value.source()), "`seeds` is not a list of different seeds",
            "expected integers from 0 on", "for example seeds = [1001, 1002, 1003]");
  }

  void read_field(const std::string& key, const Place& place, toml::node& value) {
    TuneField field{.key = key, .values = {}};
    if (toml::array* list = value.as_array(); list != nullptr && !list->empty()) {
      for (toml::node& one : *list) {
        field.values.push_back(toml_of(one));
        check_value(base_, key, place, one, diagnostics_);  // takes the value
      }
    } else if (!read_range(place, value, field)) {
      return wrong(place_of(value.source()), fmt::format("`{}` has no values to try", key),
                   "expected a list, or a range { from, to, points }",
                   fmt::format("for example \"{}\" = {{ from = 0.01, to = 1.0, points = 5 }}", key));
    }
    spec_.fields.push_back(std::move(field));
  }

  // { from = 0.01, to = 1.0, points = 5 }: numbers with equal ratios.
  bool read_range(const Place& place, const toml::node& value, TuneField& field) {
    const toml::table* range = value.as_table();
    if (range == nullptr) return false;
    const auto number = [&](const char* key) {
      const toml::node* node = range->get(key);
      return node == nullptr ? std::nullopt : node->value<double>();
    };
    field.from = number("from");
    field.to = number("to");
    const double points = number("points").value_or(5);
    const bool is_range = field.from && field.to && *field.from > 0 && *field.to > *field.from &&
                          std::isfinite(*field.to) && points >= 2 && points <= 100 &&
                          std::floor(points) == points &&
                          range->size() == 2U + (range->contains("points") ? 1U : 0U);
    if (!is_range) return false;
    for (int i = 0; i < static_cast<int>(points); ++i) {
      const double exact = *field.from * numerics::pow(*field.to / *field.from, i / (points - 1));
      field.values.push_back(three_digits(exact));
      toml::value<double> node(*number_in<double>(field.values.back()));
      check_value(base_, field.key, place, node, diagnostics_);
    }
    return true;
  }

  void check_together() {
    const Place place = place_of(table_.source());
    if (spec_.fields.empty())
      wrong(place, "[tune] names no field", "which field should it tune?",
            "for example \"training.learning_rate\" = { from = 0.01, to = 1.0, points = 5 }");
    const bool draws = spec_.method != TuneMethod::grid;
    if (draws && spec_.trials == 0)
      wrong(place, fmt::format("method \"{}\" needs `trials`", name_of(spec_.method)), "`trials` is missing",
            "for example trials = 16: each arm tries 16 settings");
    if (!draws && spec_.trials > 0)
      wrong(place, "`trials` has no meaning for a grid", "a grid tries every combination",
            "remove it, or write method = \"random\"");
    if (!base_.at_path("data.validation_fraction"))
      wrong(place, "[tune] needs a validation set", "without one it would choose by the test set",
            "for example data.validation_fraction = 0.2");
  }

  toml::table& table_;
  toml::table base_;  // a copy without places
  Diagnostics& diagnostics_;
  TuneSpec spec_;
};

}  // namespace

std::string_view name_of(TuneMethod method) {
  return std::ranges::find(methods, method, &Named<TuneMethod>::choice)->name;
}

std::string_view name_of(TuneMeasure measure) {
  return std::ranges::find(measures, measure, &Named<TuneMeasure>::choice)->name;
}

std::optional<TuneSpec> load_tune(const LoadRequest& request, Diagnostics& diagnostics) {
  std::optional<Document> document = read_request(request, diagnostics);
  if (!document || !diagnostics.empty()) return std::nullopt;
  toml::node* tune = document->root.get("tune");
  if (tune == nullptr) return std::nullopt;
  if (!tune->is_table()) {
    diagnostics.add({"tune", place_of(tune->source()), "`tune` has the wrong type", "expected a table",
                     "write [tune] and the fields below"});
    return std::nullopt;
  }
  TuneSpec spec = TuneReader(*document, *tune->as_table(), diagnostics).read();
  if (!diagnostics.empty()) return std::nullopt;
  return spec;
}

}  // namespace psim
