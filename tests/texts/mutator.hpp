// Wrong texts out of right ones: what a slip of the hand, a bad copy or malice makes of a file.
#pragma once

#include <string>
#include <vector>

#include "model/base/random.hpp"

namespace psim::test {

// A few random changes of one of `corpus`, drawn from `stream`: lines and words left out, doubled, swapped
// and taken from other texts; numbers driven to extremes; other units; strange characters; brackets, keys and
// texts that are deep or long; two texts spliced.
std::string mutated_text(const std::vector<std::string>& corpus, Stream& stream);

// The same for files of any bytes: flipped, left out, doubled, cut off, spliced.
std::string mutated_bytes(const std::vector<std::string>& corpus, Stream& stream);

}  // namespace psim::test
