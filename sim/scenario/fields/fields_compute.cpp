// The times of steps: means, distributions, effects, traces and stragglers.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

template <>
std::vector<Choice> choices<TraceUnit>() {
  return {{"factors", "a step takes the mean time, multiplied by the factor"},
          {"seconds", "a step takes the time in the file"}};
}

template <>
std::vector<Choice> choices<TraceWorkers>() {
  return {
      {"as they are", "worker i has column i; a single column is that of every worker"},
      {"draw",
       "each seed deals the columns to the workers; every column is used once before one is used again, and "
       "workers with the same column have its times at different steps"}};
}

template <>
std::vector<Choice> choices<TraceStart>() {
  return {{"first", "with the first row"}, {"draw", "with a random row of each seed"}};
}

template <>
std::vector<Choice> choices<TraceSample>() {
  return {
      {"whole", "the file is all that the cluster ever does"},
      {"draw",
       "the file is a sample: each seed first draws a file of the same length, in the same blocks, and then "
       "takes its steps from that; so the spread over seeds contains the error of the sample"}};
}

namespace {

void describe_factor(FieldVisitor& v, FactorSpec& f, std::string_view doc) {
  v.field("distribution", choice(f.distribution), doc);
  describe_settings<DistributionRow>(v, "distribution", f.settings);
  const auto traced =
      when("distribution", names_of_rows<DistributionRow>([](const auto& row) { return row.reads_trace; }));
  v.field("trace", &f.trace,
          "File of step times: one row for each step, with one column for all workers or one for each; or a "
          "table with the columns `worker`, `step` and `seconds`. A header line is optional. Its content is "
          "part of the run's identity.",
          traced);
  v.field("trace_unit", choice(f.trace_unit), "Meaning of the numbers in the trace.", traced);
  v.field("trace_resample", &f.trace_resample,
          "How a run takes the rows of the trace. \"as it is\": in their order, and again from the first. "
          "\"blocks of N steps\": N neighbouring rows from a random place, then N from another (moving block "
          "bootstrap; Kuensch 1989); the seed draws the places. \"iid\": a random row for each step.",
          traced);
  v.field("trace_workers", choice(f.trace_workers), "Which column of the trace a worker has.", traced);
  v.field("trace_start", choice(f.trace_start), "Where a trace as it is begins.", traced);
  v.field("trace_sample", choice(f.trace_sample), "Whether a resampled trace stands for more than itself.",
          traced);
}

void describe_effect(FieldVisitor& v, EffectSpec& e) {
  v.field("workers", &e.workers, "Which workers, counted from 0.", within(0, 19'999), filled,
          otherwise("all"));
  v.field("shared", &e.shared,
          "Whether one draw for each step slows all these workers. Otherwise each worker has its own.");
  describe_factor(v, e, "Distribution of the factor; its mean is 1.");
}

}  // namespace

void describe_compute(FieldVisitor& v, ComputeSpec& c) {
  describe_factor(v, c, "How the time of a step varies; the mean stays the same.");
  v.field("time", &c.time,
          "Mean time of a step: of one batch on one device that is as fast as `speed`. With a list of speeds "
          "it is the time of a worker as fast as the first one.",
          within(0, 1e9), otherwise("flops of the gradient / speed"),
          only({.keys = {"compute.trace_unit"}, .text = "without a trace in seconds", .met = [&c] {
                  return !c.is_in_seconds();
                }}));
  v.tables(
      "effect",
      "Factors on the time of some or all workers' steps, in addition to `distribution`. All factors of a "
      "step are multiplied.",
      c.effects, describe_effect);
}

void describe_straggler(FieldVisitor& v, StragglerSpec& s) {
  v.field("workers", &s.workers, "Which workers, counted from 0.", within(0, 19'999), required);
  v.field("slowdown", &s.slowdown,
          "How many times as long a step of these workers takes; below 1 it is faster.", above(0, 1e6));
  v.field("from", &s.from, "Start of the slow time.", within(0, 1e9), otherwise("the beginning"));
  v.field("until", &s.until, "End of the slow time.", above(0, 1e9), otherwise("the end"));
  v.field("every", &s.every, "Repeat the slow time with this period.", above(0, 1e9), otherwise("once"));
  v.field("probability", &s.probability,
          "Probability that a step is slow; excludes `from`, `until` and `every`.", within(0, 1),
          otherwise("slow by time, not by chance"));
}

}  // namespace psim
