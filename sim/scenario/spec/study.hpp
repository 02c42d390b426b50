// The study of a scenario: [compare] and [tune]. The other keys of both tables are fields of the
// scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace psim {

struct ArmSpec {
  std::string name;
};
struct CompareSpec {
  std::vector<ArmSpec> arms;
  std::vector<std::int64_t> seeds;
};

// grid: every combination of the values. random: settings drawn from them (Bergstra, Bengio, Random search
// for hyper-parameter optimization, 2012). halving: random settings, of which the better half continues with
// twice the seeds until one is left (Jamieson, Talwalkar, Non-stochastic best arm identification, 2016).
enum class TuneMethod { grid, random, halving };

// The measure of the best setting, on the validation set.
enum class TuneMeasure { time_to_target, loss, accuracy };

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
  std::vector<std::int64_t> seeds = {1001, 1002, 1003};
  std::vector<TuneField> fields;
};

}  // namespace psim
