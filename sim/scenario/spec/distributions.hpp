// How the time of a step varies: one row per distribution (distributions.cpp). Each is a pure function of its
// draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/random.hpp"
#include "model/base/settings.hpp"
#include "model/base/table.hpp"

namespace psim {

struct FactorSpec;

// A worker's last step, for distributions in which a step depends on the step before.
struct StepState {
  std::int64_t step = -1;
  bool slow = false;
  double level = 0;
};

// The step for which a distribution draws the slowness.
struct StepDraw {
  const Settings& settings;
  const FactorSpec* trace;  // with its file, for distributions that read one
  std::uint64_t seed;
  std::uint32_t worker;
  std::int64_t step;
  double mean_step;  // of this worker, in seconds
  StepState& state;  // of this worker
  Stream stream;     // this step's own random numbers

  double operator()(const Setting& setting) const { return settings.of(setting); }
};

// A setting with an impossible value.
struct Misfit {
  const Setting& setting;
  std::string label, help;
};

struct DistributionRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  double (*draw)(StepDraw&) = nullptr;  // the step's time divided by its mean
  bool reads_trace = false;             // needs a file
  // `shortest`: the shortest mean time of a worker's step in seconds, if known.
  std::optional<Misfit> (*misfit)(const Settings& settings, std::optional<double> shortest) = nullptr;
  double fuzz = 1;  // how often the fuzzer draws it, beside 1

  // The name of a missing function.
  std::string_view lacks() const { return draw == nullptr ? "draw" : ""; }
};

template <>
std::deque<DistributionRow> built_in_rows();
using Distribution = Chosen<DistributionRow>;

}  // namespace psim
