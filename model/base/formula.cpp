#include "model/base/formula.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <muParser.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include "model/numerics/functions.hpp"

namespace psim {
namespace {

constexpr std::size_t longest = 500;
constexpr char power_sign = '#';  // the parser's sign for `^`

double negation(double x) { return x == 0 ? 1 : 0; }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double nearest_integer(double x) { return std::floor(x + 0.5); }
double magnitude(double x) { return std::abs(x); }
double square_root(double x) { return std::sqrt(x); }
double rounded_down(double x) { return std::floor(x); }
double rounded_up(double x) { return std::ceil(x); }

double sum_of_all(const double* x, int n) {
  double result = 0;
  for (int i = 0; i < n; ++i) result += x[i];
  return result;
}
double mean_of_all(const double* x, int n) { return sum_of_all(x, n) / n; }
double smallest_of_all(const double* x, int n) { return *std::min_element(x, x + n); }
double largest_of_all(const double* x, int n) { return *std::max_element(x, x + n); }

// In muParser's own functions and `^` the bits of a value depend on the C library. So these replace them.
void define_functions(mu::Parser& parser) {
  parser.ClearFun();
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"exp", numerics::exp},    {"ln", numerics::log},      {"log", numerics::log},
      {"log2", numerics::log2},  {"log10", numerics::log10}, {"tanh", numerics::tanh},
      {"sqrt", square_root},     {"abs", magnitude},         {"sign", sign_of},
      {"rint", nearest_integer}, {"floor", rounded_down},    {"ceil", rounded_up},
      {"not", negation}};
  for (const auto& [name, function] : functions) parser.DefineFun(name, function);
  const std::pair<const char*, double (*)(const double*, int)> of_many[] = {
      {"sum", sum_of_all}, {"avg", mean_of_all}, {"min", smallest_of_all}, {"max", largest_of_all}};
  for (const auto& [name, function] : of_many) parser.DefineFun(name, function);
  parser.DefineFun("pow", numerics::pow);
  parser.DefineOprt(std::string(1, power_sign), numerics::pow, mu::prPOW, mu::oaRIGHT);
}

// muParser's own `^` cannot be replaced, so it never sees one.
std::string with_own_powers(std::string text) {
  const std::size_t at = text.find(power_sign);
  if (at != std::string::npos) throw FormulaMistake{at, 1, "psim does not understand this", ""};
  std::ranges::replace(text, '^', power_sign);
  return text;
}

// The letters of names; a dot leads into a document: `run.final.loss`.
constexpr const char* name_letters = "0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// muParser would take `=` for an assignment.
void refuse_assignments(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    const bool compares = i > 0 && std::string_view("<>!").find(text[i - 1]) != std::string_view::npos;
    if (!compares && text.substr(i, 2) != "==")
      throw FormulaMistake{i, 1, "`=` does not compare", "write `==`"};
    if (!compares) ++i;
  }
}

FormulaMistake mistake_of(const mu::ParserError& error, const std::string& text,
                          const std::vector<std::string>& names) {
  const std::size_t at =
      std::min(static_cast<std::size_t>(std::max(0, static_cast<int>(error.GetPos()))), text.size());
  const std::string& token = error.GetToken();
  const bool is_name =
      !token.empty() && (std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '_');
  std::size_t begin = at;
  if (is_name && text.find(token) != std::string::npos)
    begin = text.compare(at, token.size(), token) == 0 ? at : text.find(token);
  if (is_name && error.GetCode() == mu::ecUNASSIGNABLE_TOKEN) {
    const std::size_t end = std::min(text.find_first_not_of(name_letters, begin), text.size());
    return {begin, end - begin, fmt::format("`{}` is not a known name", text.substr(begin, end - begin)),
            fmt::format("the names are {}", fmt::join(names, ", "))};
  }
  switch (error.GetCode()) {
    case mu::ecUNEXPECTED_EOF: return {text.size(), 0, "something is missing at the end", ""};
    case mu::ecMISSING_PARENS:
    case mu::ecUNEXPECTED_PARENS: return {begin, 1, "the brackets do not pair", ""};
    case mu::ecUNEXPECTED_OPERATOR:
    case mu::ecUNEXPECTED_VAL:
    case mu::ecUNEXPECTED_VAR:
      return {begin, std::max<std::size_t>(1, token.size()), "this is not allowed here", ""};
    default:
      return {begin, std::max<std::size_t>(1, std::min(token.size(), text.size() - begin)),
              "psim does not understand this", ""};
  }
}

}  // namespace

struct Formula::Parsed {
  std::string text;
  std::vector<std::string> names;
  mutable std::vector<double> values;  // of the names; the parser reads them from here
  mutable mu::Parser parser = {};
};

Formula::Formula(std::string text, std::vector<std::string> names) {
  if (text.size() > longest)
    throw FormulaMistake{0, text.size(), fmt::format("an expression has at most {} characters", longest), ""};
  if (text.find_first_not_of(" \t") == std::string::npos)
    throw FormulaMistake{0, text.size(), "an empty expression", ""};
  refuse_assignments(text);
  auto parsed =
      std::make_shared<Parsed>(Parsed{.text = std::move(text), .names = std::move(names), .values = {}});
  parsed->values.resize(parsed->names.size());
  try {
    parsed->parser.DefineNameChars(name_letters);
    for (std::size_t i = 0; i < parsed->names.size(); ++i)
      parsed->parser.DefineVar(parsed->names[i], &parsed->values[i]);
    parsed->parser.DefineConst("true", 1);
    parsed->parser.DefineConst("false", 0);
    define_functions(parsed->parser);
    parsed->parser.SetExpr(with_own_powers(parsed->text));
    parsed->parser.Eval();
  } catch (const mu::ParserError& error) {
    FormulaMistake mistake = mistake_of(error, parsed->text, parsed->names);
    mistake.length = std::min(mistake.length, parsed->text.size() - mistake.at);
    throw mistake;
  }
  if (parsed->parser.GetNumResults() > 1)
    throw FormulaMistake{parsed->text.find(','), 1, "one value is needed, not several",
                         "decimals have a point"};
  parsed_ = std::move(parsed);
}

double Formula::of(std::span<const double> values) const {
  std::ranges::copy(values, parsed_->values.begin());
  return parsed_->parser.Eval();
}

bool Formula::holds(std::span<const double> values) const {
  const double value = of(values);
  return value != 0 && !std::isnan(value);
}

const std::string& Formula::text() const { return parsed_->text; }

bool Formula::uses(std::string_view name) const {
  return parsed_->parser.GetUsedVar().contains(std::string(name));
}

std::string Formula::with(std::span<const double> values) const {
  std::vector<std::string> used;
  for (std::size_t i = 0; i < parsed_->names.size(); ++i) {
    if (uses(parsed_->names[i])) used.push_back(fmt::format("{} = {}", parsed_->names[i], values[i]));
  }
  return fmt::format("{}", fmt::join(used, ", "));
}

namespace {

constexpr std::array<std::string_view, 3> subjects{"clock_gap", "age", "pushes"};  // in the order of About

}  // namespace

Promise::Promise(const std::string& text, const Numbers& numbers)
    : formula_(text, {"clock_gap", "age", "pushes", "workers", "k", "staleness"}), numbers_(numbers) {
  int used = 0;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (!formula_.uses(subjects[i])) continue;
    about_ = static_cast<About>(i);
    ++used;
  }
  if (used != 1)
    throw FormulaMistake{0, text.size(), "a promise uses exactly one of clock_gap, age and pushes",
                         "for example \"clock_gap <= staleness\""};
}

bool Promise::holds(std::int64_t value) const {
  const auto is = static_cast<double>(value);
  return formula_.holds({is, is, is, static_cast<double>(numbers_.workers), static_cast<double>(numbers_.k),
                         static_cast<double>(numbers_.staleness)});
}

}  // namespace psim
