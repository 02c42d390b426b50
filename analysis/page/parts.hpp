// Parts that pages of studies and of runs have in common.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/render/html.hpp"

namespace psim::analysis {

// A heading, as HTML, and below it what `content` shows; nothing without that.
std::string section(const char* id, const std::string& heading, const std::string& intro,
                    const std::string& content);

// Facts about runs for the playground and for programs. Each is {name, value, text, doc}: the mean over the
// summaries of these runs. If a summary lacks the value, it is null, and the text is "-".
Json facts_of(const std::vector<const Json*>& summaries);

// {x, mean, low, high}: the curve of "loss" or "accuracy", without a band.
Json curve_of(const Json& summary, const char* what, double scale);

// What charts draw of a summary's target: {"accuracy": 93} in percent; null where it asks for no accuracy.
Json goal_of(const Json& target);

// What a worker did with its time, as a bar: the shares below `path`.
std::string share_bar(const Numbers& numbers, const std::string& path);
// Bars of the shares of workers, at most `most` of the `workers`. The shares stand below `path`/workers.
std::string share_bars(const Numbers& numbers, const std::string& path, std::size_t workers,
                       std::size_t most);
// The names of a bar's patterns.
extern const char* const bar_keys;

}  // namespace psim::analysis
