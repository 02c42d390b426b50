// [tune] of a scenario: which fields a study tunes for each of its arms, and how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/load.hpp"

namespace psim {

// grid: every combination of the values. random: settings drawn from them (Bergstra, Bengio, Random search
// for hyper-parameter optimization, 2012). halving: random settings, of which the better half goes on with
// twice the seeds until one is left (Jamieson, Talwalkar, Non-stochastic best arm identification, 2016).
enum class TuneMethod { grid, random, halving };

// What the best setting is the best in, on the validation set.
enum class TuneMeasure { time_to_target, loss, accuracy };

std::string_view name_of(TuneMethod method);  // as [tune] writes them
std::string_view name_of(TuneMeasure measure);

// A field and the values that are tried: those of a list, or numbers at equal ratios between two.
struct TuneField {
  std::string key;
  std::vector<std::string> values;           // as TOML, in the order of the list, or rising
  std::optional<double> from = {}, to = {};  // of a range: random settings are drawn from all of it
};

struct TuneSpec {
  TuneMethod method = TuneMethod::grid;
  TuneMeasure measure = TuneMeasure::loss;
  std::int64_t trials = 0;  // random and halving: settings for each arm
  std::vector<std::int64_t> seeds;
  std::vector<TuneField> fields;
};

// All of it, in one text: equal texts, equal trials.
std::string text_of(const TuneSpec& spec);

// So that people can read what is tried.
std::string three_digits(double value);

// A setting of all fields.
struct TuneSetting {
  std::vector<std::string> sets;    // KEY=VALUE, as in --set
  std::vector<std::size_t> places;  // of a grid: of each field's value in its list
};

// The same settings for all arms. Those that are drawn come from the seed of the study's first tuning seed.
std::vector<TuneSetting> settings_of(const TuneSpec& spec);

// Which fields of a grid's setting have the first or the last of their values: a better one may lie beyond.
std::vector<std::string> fields_at_edge(const TuneSpec& spec, const TuneSetting& setting);

// [tune] of the file; nothing without it, or, with diagnostics, where something is wrong with it.
std::optional<TuneSpec> load_tune(const LoadRequest& request, Diagnostics& diagnostics);

}  // namespace psim
