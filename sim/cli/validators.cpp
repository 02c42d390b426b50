#include "sim/cli/validators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>

#include "sim/record/summary.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim::cli {

CLI::Validator whole(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good =
        error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
    return good ? "" : fmt::format("`{}` is not an integer from {} to {}", text, least, most);
  };
  return {check, ""};
}

CLI::Validator duration() {
  const auto check = [](std::string& text) -> std::string {
    const auto seconds = parse_quantity(text, Unit<Seconds>::names);
    if (!seconds || *seconds <= 0) return fmt::format("`{}` is not a duration such as 10min", text);
    text = shortest(*seconds);
    return "";
  };
  return {check, ""};
}

CLI::Validator percentage() {
  const auto check = [](std::string& text) -> std::string {
    const std::string number = text.substr(0, text.find('%'));
    double percent = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
    const bool good = error == std::errc{} && end == number.data() + number.size() &&
                      number.size() + 1 == text.size() && percent > 0 && percent <= 100;
    if (!good) return fmt::format("`{}` is not a percentage such as 5%", text);
    text = shortest(percent / 100);
    return "";
  };
  return {check, ""};
}

CLI::Validator seed_list() {
  const auto check = [](const std::string& text) -> std::string {
    const bool good = !text.empty() && text.find_first_not_of("0123456789, ") == std::string::npos &&
                      std::isdigit(static_cast<unsigned char>(text.back())) != 0;
    return good ? "" : fmt::format("`{}` is not a list of seeds such as 1,2,3", text);
  };
  return {check, ""};
}

CLI::Validator not_empty(const char* otherwise) {
  return {[=](const std::string& text) { return std::string(text.empty() ? otherwise : ""); }, ""};
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  const auto check = [names](const std::string& text) -> std::string {
    return std::ranges::count(names, text) > 0
               ? ""
               : fmt::format("`{}` is not one of {}", text, fmt::join(names, ", "));
  };
  return {check, fmt::format("{}", fmt::join(names, "|"))};
}

}  // namespace psim::cli
