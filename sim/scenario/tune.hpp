// [tune] of a scenario: the fields that a study tunes for each arm, and the method.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/spec/study.hpp"

namespace psim {

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
