// Parts that pages of studies and of runs have in common.
#pragma once

#include <string>

#include "analysis/render/html.hpp"

namespace psim::analysis {

// A heading, as HTML, and below it what `content` shows; nothing without that.
std::string section(const char* id, const std::string& heading, const std::string& intro,
                    const std::string& content);

// What charts draw of a summary's target: {"accuracy": 93} in percent; null where it asks for no accuracy.
Json goal_of(const Json& target);

// What a worker did with its time, as a bar: the shares below `path`.
std::string share_bar(const Numbers& numbers, const std::string& path);
// The names of a bar's patterns.
extern const char* const bar_keys;

}  // namespace psim::analysis
