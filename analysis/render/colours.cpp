#include "analysis/render/colours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace psim::analysis {

std::string arm_stroke(std::size_t arm) {
  constexpr const char* dashes[] = {"",
                                    "1.4 0.5",
                                    "0.5 0.3",
                                    "1.6 0.3 0.3 0.3",
                                    "2.4 0.4 0.8 0.4",
                                    "2.2 0.6",
                                    "0.2 0.4",
                                    "1 0.3 0.2 0.3 0.2 0.3"};
  constexpr std::size_t colours = std::size(arm_colours);
  const std::string_view dash = dashes[(arm + arm / colours) % std::size(dashes)];
  return fmt::format("stroke=\"{}\"{}", arm_colours[arm % colours],
                     dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

std::string letter_of(std::size_t series) {
  constexpr std::size_t letters = 26;
  const auto letter = static_cast<char>('a' + series % letters);
  return series < letters ? std::string(1, letter) : letter_of(series / letters - 1) + letter;
}

const char* colour_of(Use use) {
  return std::ranges::find(use_colours, use, &std::pair<Use, const char*>::first)->second;
}

}  // namespace psim::analysis
