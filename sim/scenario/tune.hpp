// [tune] of a scenario: the fields that a study tunes for each arm, and the method.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/load.hpp"

namespace psim {

// grid: every combination of the values. random: settings drawn from them (Bergstra, Bengio, Random search
// for hyper-parameter optimization, 2012). halving: random settings, of which the better half continues with
// twice the seeds until one is left (Jamieson, Talwalkar, Non-stochastic best arm identification, 2016).
enum class TuneMethod { grid, random, halving };

// The measure of the best setting, on the validation set.
enum class TuneMeasure { time_to_target, loss, accuracy };

std::string_view name_of(TuneMethod method);  // as in [tune]
std::string_view name_of(TuneMeasure measure);

// A field and the values to try: a list, or numbers with equal ratios in a range.
struct TuneField {
  std::string key;
  std::vector<std::string> values;           // as TOML, in the order of the list, or in rising order
  std::optional<double> from = {}, to = {};  // the range, from which random settings are drawn
};

struct TuneSpec {
  TuneMethod method = TuneMethod::grid;
  TuneMeasure measure = TuneMeasure::loss;
  std::int64_t trials = 0;  // random and halving: number of settings for each arm
  std::vector<std::int64_t> seeds;
  std::vector<TuneField> fields;
};

// The whole [tune] as one text: equal texts mean equal trials.
std::string text_of(const TuneSpec& spec);

// Readable numbers for the tried values.
std::string three_digits(double value);

// One value for each field.
struct TuneSetting {
  std::vector<std::string> sets;    // KEY=VALUE, as in --set
  std::vector<std::size_t> places;  // grid: the index of each field's value in its list
};

// The settings, which are the same for all arms. Random settings are drawn with the first tuning seed.
std::vector<TuneSetting> settings_of(const TuneSpec& spec);

// The fields of a grid's setting with the first or the last of their values: a better value may lie beyond
// it.
std::vector<std::string> fields_at_edge(const TuneSpec& spec, const TuneSetting& setting);

// [tune] of the file; nothing if there is no [tune], or, with diagnostics, if it has errors.
std::optional<TuneSpec> load_tune(const LoadRequest& request, Diagnostics& diagnostics);

}  // namespace psim
