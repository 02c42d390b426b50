#include "sim/scenario/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "model/base/random.hpp"
#include "model/numerics/functions.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {
namespace {

std::vector<TuneSetting> grid(const TuneSpec& spec) {
  std::vector<TuneSetting> settings(1);
  for (const TuneField& field : spec.fields) {
    std::vector<TuneSetting> more;
    for (const TuneSetting& one : settings) {
      for (std::size_t i = 0; i < field.values.size(); ++i) {
        TuneSetting next = one;
        next.sets.push_back(field.key + "=" + field.values[i]);
        next.places.push_back(i);
        more.push_back(std::move(next));
      }
    }
    settings = std::move(more);
  }
  return settings;
}

// From a range: the logarithm is uniform.
std::string draw(const TuneField& field, Stream& stream) {
  if (!field.from) return field.values[stream.below(field.values.size())];
  const double value = numerics::exp(stream.uniform(numerics::log(*field.from), numerics::log(*field.to)));
  return three_digits(value);
}

}  // namespace

std::string text_of(const TuneSpec& spec) {
  std::string text = fmt::format("{} {} {} {}", name_of(spec.method), name_of(spec.measure), spec.trials,
                                 fmt::join(spec.seeds, ","));
  for (const TuneField& field : spec.fields)
    text += fmt::format("\n{} = {}", field.key, fmt::join(field.values, ", "));
  return text;
}

std::string three_digits(double value) {
  return fmt::format("{}", *number_in<double>(fmt::format("{:.3g}", value)));  // 1000, not 1e+03
}

std::vector<TuneSetting> settings_of(const TuneSpec& spec) {
  if (spec.method == TuneMethod::grid) return grid(spec);
  std::vector<TuneSetting> settings;
  for (std::int64_t trial = 0; trial < spec.trials; ++trial) {
    TuneSetting setting;
    for (std::size_t f = 0; f < spec.fields.size(); ++f) {
      Stream stream(static_cast<std::uint64_t>(spec.seeds.front()), "tune", static_cast<std::uint64_t>(trial),
                    f);
      setting.sets.push_back(spec.fields[f].key + "=" + draw(spec.fields[f], stream));
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::vector<std::string> fields_at_edge(const TuneSpec& spec, const TuneSetting& setting) {
  std::vector<std::string> fields;
  for (std::size_t f = 0; f < setting.places.size(); ++f) {
    const std::size_t last = spec.fields[f].values.size() - 1;
    if (last > 0 && (setting.places[f] == 0 || setting.places[f] == last))
      fields.push_back(spec.fields[f].key);
  }
  return fields;
}

}  // namespace psim
