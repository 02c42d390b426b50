#include "sim/apps/course/answer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/base/unicode.hpp"
#include "sim/scenario/spec/units.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

constexpr UnitName money[] = {{"dollar", 1, 1}, {"dollars", 1, 1}, {"cent", 1, 100}, {"cents", 1, 100}};
// Units of one kind convert into each other.
constexpr std::span<const UnitName> kinds[] = {Unit<Seconds>::names, Unit<Bytes>::names, money};
constexpr std::pair<std::string_view, std::string_view> words[] = {
    {"microseconds", "us"}, {"milliseconds", "ms"}, {"sec", "s"},        {"second", "s"},
    {"seconds", "s"},       {"minute", "min"},      {"minutes", "min"},  {"byte", "B"},
    {"bytes", "B"},         {"kilobytes", "kB"},    {"megabytes", "MB"}, {"gigabytes", "GB"}};

// The size of a unit among those of its kind.
std::optional<double> size_of(std::string_view unit, std::span<const UnitName> kind) {
  const auto word = std::ranges::find(words, unit, [](const auto& one) { return one.first; });
  return parse_quantity(fmt::format("1{}", word == std::end(words) ? unit : word->second), kind);
}

bool has_size(std::string_view unit) {
  return std::ranges::any_of(kinds, [&](const auto& kind) { return size_of(unit, kind).has_value(); });
}

// The number of `to` in one `from`; nothing if they are of different kinds.
std::optional<double> scale_of(std::string_view from, std::string_view to) {
  if (from == to) return 1;
  for (const std::span<const UnitName> kind : kinds) {
    const std::optional<double> one = size_of(from, kind), other = size_of(to, kind);
    if (one && other) return *one / *other;
  }
  return {};
}

// Replaces a decimal comma by a point. "1,893" gives nothing, because some people read it as 1893.
std::optional<std::string> with_point(std::string digits) {
  const std::size_t comma = digits.find(',');
  if (comma == std::string::npos) return digits;
  constexpr std::size_t thousands = 4;  // a comma and three digits
  if (digits.size() - comma == thousands || digits.find_first_of(",.", comma + 1) != std::string::npos)
    return {};
  digits[comma] = '.';
  return digits;
}

std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  return in_small_letters(std::move(text));
}

// "updates" and "update" if the question asks "how many updates" or "..., in updates?". Not a unit that has a
// size.
bool is_asked_for(std::string word, const std::string& asks) {
  if (has_size(word)) return false;
  word = plain(word);
  if (word.ends_with('s')) word.pop_back();
  const std::string text = plain(asks);
  return word.size() > 2 && (text.find("howmany" + word) != std::string::npos ||
                             text.find("in" + word + "s?") != std::string::npos);
}

}  // namespace

// "3 %" and "0.03" are the same; so are "12,5" and "12.5", and "3.6", "3.6 ms" and "0.0036 s" if the unit is
// ms. If the answer is a share, 73 means neither 73 % nor 7300 %.
std::optional<double> amount_in(std::string text, const LabQuestion& question) {
  const std::string& unit = question.unit;
  std::erase(text, ' ');
  const std::size_t end = text.find_last_of("0123456789.") + 1;  // 0 if there is no digit
  const std::string suffix = text.substr(end) == "percent" ? "%" : text.substr(end);
  const std::optional<std::string> digits = with_point(text.substr(0, end));
  if (!digits) return {};
  const auto whole = number_in<double>(*digits);
  if (!whole || !std::isfinite(*whole)) return {};
  const double number = *whole;
  if (suffix == "%" && (unit.empty() || unit == "%")) return number / 100;
  if (unit == "%") {
    const bool is_share = suffix.empty() && std::abs(number) <= 1;
    return is_share ? std::optional(number) : std::nullopt;
  }
  if (suffix.empty() || (unit.empty() && (suffix == "x" || is_asked_for(suffix, question.asks))))
    return number;
  const std::optional<double> scale = scale_of(suffix, unit);
  return scale && std::isfinite(number * *scale) ? std::optional(number * *scale) : std::nullopt;
}

std::optional<std::size_t> chosen_in(const LabQuestion& question, const std::string& answer) {
  const auto chosen = std::ranges::find_if(
      question.choices, [&](const std::string& one) { return plain(one) == plain(answer); });
  if (chosen == question.choices.end()) return std::nullopt;
  return static_cast<std::size_t>(chosen - question.choices.begin());
}

std::string number_text(double number, const std::string& unit) {
  if (unit == "%") return fmt::format("{:.4g} %", 100 * number);
  return fmt::format("{:.6g}{}{}", number, unit.empty() ? "" : " ", unit);
}

namespace {

// The allowed error of an answer.
double slack(const LabQuestion& question, double right) {
  constexpr double rounding = 1e-9;
  const double size = std::abs(right);
  return std::max(question.tolerance * size, rounding * (1 + size));
}

}  // namespace

bool suits_all(const LabQuestion& question, const std::vector<RightAnswer>& right) {
  if (question.choices.empty()) {
    double least = -std::numeric_limits<double>::infinity(), most = -least;
    for (const RightAnswer& one : right) {
      least = std::max(least, one.number - slack(question, one.number));
      most = std::min(most, one.number + slack(question, one.number));
    }
    return least <= most;
  }
  for (std::size_t choice = 0; choice < question.choices.size(); ++choice) {
    const auto is_right = [&](const RightAnswer& one) { return std::ranges::count(one.choices, choice) > 0; };
    if (std::ranges::all_of(right, is_right)) return true;
  }
  return false;
}

Mark mark_of(const LabQuestion& question, const std::string& answer, const RightAnswer& right) {
  if (!question.choices.empty()) {
    const auto chosen = chosen_in(question, answer);
    if (!chosen) return Mark::unreadable;
    return std::ranges::count(right.choices, *chosen) > 0 ? Mark::right : Mark::wrong;
  }
  const std::optional<double> number = amount_in(answer, question);
  if (!number) return Mark::unreadable;
  return std::abs(*number - right.number) <= slack(question, right.number) ? Mark::right : Mark::wrong;
}

bool is_readable(const LabQuestion& question, const std::string& answer) {
  return question.choices.empty() ? amount_in(answer, question).has_value()
                                  : chosen_in(question, answer).has_value();
}

std::string form_of(const LabQuestion& question) {
  if (!question.choices.empty()) return fmt::format("one of: {}", fmt::join(question.choices, ", "));
  if (question.unit == "%") return "a share: 73 % or 0.73";
  return fmt::format("a number: 1893 or 3.625{}",
                     question.unit.empty() ? "" : fmt::format(", in {}", question.unit));
}

std::string as_read(const LabQuestion& question, const std::string& answer) {
  if (!question.choices.empty()) return question.choices[chosen_in(question, answer).value()];
  return number_text(amount_in(answer, question).value(), question.unit);
}

std::string answer_text(const LabQuestion& question, const RightAnswer& right) {
  if (question.choices.empty()) return number_text(right.number, question.unit);
  std::vector<std::string> names;
  for (const std::size_t choice : right.choices) names.push_back(question.choices[choice]);
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace psim::cli
