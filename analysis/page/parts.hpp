// Parts that pages of studies and of runs have in common.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/render/html.hpp"

namespace psim::analysis {

// A section with a heading (HTML) and `content`; empty without content.
std::string section(const char* id, const std::string& heading, const std::string& intro,
                    const std::string& content);

// Facts about runs for the playground and for programs. Each is {name, value, text, doc}; the value is the
// mean over these summaries. If a summary lacks the value, the value is null and the text "-".
Json facts_of(const std::vector<const Json*>& summaries);

// {x, mean, low, high}: the curve of "loss" or "accuracy", without a band.
Json curve_of(const Json& summary, const char* what, double scale);

// The target of a summary for charts: {"accuracy": 93} in percent; null if the target is no accuracy.
Json goal_of(const Json& target);

// A bar of the uses of a worker's time: the shares below `path`.
std::string share_bar(const Numbers& numbers, const std::string& path);
// Bars for at most `most` of the `workers`. The shares stand below `path`/workers.
std::string share_bars(const Numbers& numbers, const std::string& path, std::size_t workers,
                       std::size_t most);
// The legend for the patterns of a bar.
extern const char* const bar_keys;

}  // namespace psim::analysis
