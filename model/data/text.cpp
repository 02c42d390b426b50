#include "model/data/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psim {

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view head = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return head;
}

std::string read_feature(std::string_view cell, float& value) {
  double exact = 0.0;
  const std::errc error = read(cell, exact);
  const std::string quoted = "`" + std::string(cell) + "`";
  if (error == std::errc::invalid_argument) return "not a number: " + quoted;
  if (error == std::errc{} && !std::isfinite(exact)) return "not finite: " + quoted;
  // Large doubles become infinite as floats, and none of them may enter a model.
  if (error != std::errc{} || std::abs(exact) > std::numeric_limits<float>::max())
    return "number out of range: " + quoted;
  value = static_cast<float>(exact);
  return {};
}

}  // namespace psim
