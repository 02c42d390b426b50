#include "sim/apps/cli/subcommand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include "sim/record/summary.hpp"
#include "sim/runs/files.hpp"
#include "sim/scenario/spec/units.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {

CLI::Validator whole(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const auto value = number_in<std::int64_t>(text);
    const bool good = value && *value >= least && *value <= most;
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

CLI::Validator date() {
  const auto check = [](std::string& text) -> std::string {
    const bool has_unit = text.find_first_not_of("0123456789.") != std::string::npos;
    const auto seconds = parse_quantity(has_unit ? text : text + "s", Unit<Seconds>::names);
    if (!seconds || *seconds < 0) return fmt::format("`{}` is not a date such as 1.2s", text);
    text = shortest(*seconds);
    return "";
  };
  return {check, ""};
}

CLI::Validator percentage(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    const bool has_sign = text.ends_with('%');
    const auto number = number_in<double>(text.substr(0, text.size() - (has_sign ? 1 : 0)));
    const double share = number ? *number / (has_sign ? 100 : 1) : -1;
    if (!(share >= least && share <= most))
      return fmt::format("`{}` is not from {:.4g}% to {:.4g}%, such as 5% or 0.05", text, 100 * least,
                         100 * most);
    text = shortest(share);
    return "";
  };
  return {check, ""};
}

namespace {

constexpr std::int64_t largest_seed = 9'000'000'000'000'000;
constexpr std::int64_t most_seeds = 10'000;

// The seed in `text`; nothing if `text` is not a seed.
std::optional<std::int64_t> seed_in(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto value = number_in<std::int64_t>(text);
  return value && !text.starts_with('-') && *value <= largest_seed ? value : std::nullopt;
}

// "1-5,9" -> "1,2,3,4,5,9"; "5", a number of seeds -> "1,2,3,4,5". Returns the mistake; empty: none.
std::string expand_seeds(std::string& text) {
  if (const auto number = seed_in(text)) {
    if (*number < 1 || *number > most_seeds)
      return fmt::format(
          "`{0}` is not a number of seeds from 1 to {1}: write --seed {0} for the one seed {0}", *number,
          most_seeds);
    text = fmt::format("1-{}", *number);
  }
  std::string list;
  std::int64_t count = 0;
  for (std::string_view rest = text;; rest.remove_prefix(rest.find(',') + 1)) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const std::size_t dash = part.find('-');
    const auto first = seed_in(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : seed_in(part.substr(dash + 1));
    if (!first || !last)
      return fmt::format(
          "`{}` is not a list of seeds such as 1,2,3 or 1-5,9: {}", text,
          part.empty()
              ? "an entry is empty"
              : fmt::format("`{}` is neither a seed from 0 to {} nor a range of seeds", part, largest_seed));
    if (*last < *first)
      return fmt::format("the range `{}` decreases: did you mean {}-{}?", part, *last, *first);
    count += *last - *first + 1;  // no overflow: both seeds are from 0 to 2^53
    if (count > most_seeds)
      return fmt::format("`{}` has more than {} seeds, the most that psim compares", text, most_seeds);
    for (std::int64_t seed = *first; seed <= *last; ++seed)
      fmt::format_to(std::back_inserter(list), ",{}", seed);
    if (rest.find(',') == std::string_view::npos) break;
  }
  text = list.substr(1);
  return "";
}

}  // namespace

CLI::Validator seed_list() {
  return {[](std::string& text) { return expand_seeds(text); }, ""};
}

CLI::Validator existing_file() {
  const auto check = [](const std::string& text) -> std::string {
    std::error_code error;
    const fs::path path(text);
    if (text.empty() || fs::exists(path, error)) return "";
    std::vector<std::string> names;
    for (const auto& one : fs::directory_iterator(path.has_parent_path() ? path.parent_path() : ".", error))
      names.push_back(one.path().filename().string());
    const std::string near = nearest(path.filename().string(), names);
    return fmt::format("there is no file `{}`{}", text,
                       near.empty()
                           ? ": write the path of a log, such as steps.csv (docs/calibrate.md)"
                           : fmt::format(": did you mean `{}`?", (path.parent_path() / near).string()));
  };
  return {check, ""};
}

CLI::Validator not_empty(const char* what) {
  return {[=](const std::string& text) {
            return text.empty() ? fmt::format("the name of the {} is empty", what) : "";
          },
          ""};
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
