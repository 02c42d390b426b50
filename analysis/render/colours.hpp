// The colours of all pictures. Pages have the same colours in analysis/page/page.css, and others for dark
// mode.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

// Colours that remain apart for the colour-blind (Okabe, Ito 2008).
inline constexpr const char* palette[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                          "#E69F00", "#56B4E9", "#000000", "#999999"};

// Colours and dashes of a study's arms, as on its page.
inline constexpr const char* arm_colours[] = {"#0072b2", "#d55e00", "#009e73", "#b85c93",
                                              "#b87d00", "#3b9bd6", "#000000", "#7a5bc0"};

// "stroke" and "stroke-dasharray" of an arm. After eight arms colours repeat with other dashes.
std::string arm_stroke(std::size_t arm);

// "a", "b", ..., "z", "aa": names a series in addition to its colour.
std::string letter_of(std::size_t series);

// The colours of uses of a node.
inline constexpr std::pair<Use, const char*> use_colours[] = {{Use::compute, "#009E73"},
                                                              {Use::network, "#56B4E9"},
                                                              {Use::wait, "#F0E442"},
                                                              {Use::service, "#0072B2"},
                                                              {Use::down, "#D55E00"}};
const char* colour_of(Use use);

}  // namespace psim::analysis
