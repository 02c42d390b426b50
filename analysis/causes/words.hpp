// An explanation in words, the most important sentence first.
#pragma once

#include <string>
#include <vector>

#include "analysis/causes/explain.hpp"

namespace psim::analysis {

// At least one, at most four.
std::vector<std::string> sentences_of(const Explanation& why, const RunRecord& record);

// "2.6 s", "34.6 ms", "120 us"
std::string seconds_text(double seconds);
// "0-2 and 4-7" for 0, 1, 2, 4, 5, 6, 7; `numbers`: ascending, at least one.
std::string ranges_text(const std::vector<std::uint32_t>& numbers);
// "workers 0-2 and 4-7", "worker 3", "server 0 and worker 2"
std::string names_of(const Facts& facts, std::vector<std::uint32_t> nodes);

}  // namespace psim::analysis
