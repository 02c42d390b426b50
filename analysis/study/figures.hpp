// What the figures of a study show, on its page and as files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/render/colours.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {

using ConditionAggregates = std::vector<const Aggregate*>;

// The place of an arm among the arms: its letter and colour in all figures.
std::size_t series_of_arm(const Study& study, const std::string& arm);
// The series of a curve's label "a or b" is that of its first arm.
std::size_t series_of_label(const Study& study, const std::string& label);

// Seconds to the target, or of the whole run where there is none; absent where they are not known.
std::optional<double> mean_time(const Aggregate& one);
std::optional<statistics::Interval> time_interval(const Aggregate& one);  // 95 %, of the mean

// An arm by what it costs.
struct Cost {
  const Aggregate* one = nullptr;
  double time_s = 0, sent_mb = 0;  // means
};
// Those arms of a condition whose costs are known.
std::vector<Cost> costs_of(const ConditionAggregates& condition);
// Whether all sent the same, within 1 %: only their times differ.
bool sent_alike(const std::vector<Cost>& costs);

}  // namespace psim::analysis
