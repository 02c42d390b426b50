// How long the computation of a step takes: a mean time, times the factor of [compute], times the factors of
// the [[compute.effect]] that concern the worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/base/settings.hpp"
#include "sim/scenario/spec/distributions.hpp"
#include "sim/scenario/spec/step_trace.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

enum class TraceUnit : std::uint8_t { factors, seconds };
enum class TraceWorkers : std::uint8_t { as_they_are, draw };
enum class TraceStart : std::uint8_t { first, draw };
enum class TraceSample : std::uint8_t { whole, draw };

// A random or measured factor of a step's time.
struct FactorSpec {
  Distribution distribution;
  Settings settings;  // of the distribution
  std::string trace;  // for a distribution that reads a file
  TraceUnit trace_unit = TraceUnit::factors;
  std::string trace_resample = "as it is";
  TraceWorkers trace_workers = TraceWorkers::as_they_are;
  TraceStart trace_start = TraceStart::first;
  TraceSample trace_sample = TraceSample::whole;
  // The loader fills these in: how the run takes the rows, the content of the file, and the column of each
  // worker.
  Resampling resampling = {};
  std::shared_ptr<const StepTrace> steps = nullptr;
  std::vector<TraceColumn> columns = {};

  bool is_in_seconds() const { return distribution->reads_trace && trace_unit == TraceUnit::seconds; }
  // Whether every seed takes the same rows.
  bool is_trace_as_it_is() const {
    return distribution->reads_trace && !resampling.drawn_start &&
           resampling.kind == ResamplingKind::as_it_is;
  }
};

// A factor for some workers, in addition to that of all workers.
struct EffectSpec : FactorSpec {
  std::vector<std::int64_t> workers;  // empty: all
  bool shared = false;                // the workers have the same factor in a step

  bool concerns(std::uint32_t worker) const;
};

struct ComputeSpec : FactorSpec {
  std::optional<Seconds> time;  // mean time of a step, instead of flops / speed
  // The speed of a worker for which `time` holds, if it is not that of the first worker.
  std::optional<FlopsPerSecond> time_speed = {};
  std::vector<EffectSpec> effects = {};

  // All factors, first that of [compute].
  std::vector<const FactorSpec*> factors() const;
  // The worker's mean time in a trace of seconds.
  std::optional<double> traced_seconds(std::uint32_t worker) const;
};

}  // namespace psim
