#include "sim/scenario/spec/fault_condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "sim/scenario/spec/units.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

using Quantity = FaultCondition::Quantity;

struct Word {
  std::string_view text;
  std::size_t begin;
};

bool is_comparison(char c) { return c == '<' || c == '>' || c == '='; }

// Comparisons are separate words, with or without blanks around them.
std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    const bool comparison = is_comparison(text[i]);
    std::size_t end = i;
    while (end < text.size() && text[end] != ' ' && is_comparison(text[end]) == comparison) ++end;
    words.push_back({text.substr(i, end - i), i});
    i = end;
  }
  return words;
}

class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text), words_(words_of(text)) {}

  std::variant<FaultCondition, ConditionError> parse() {
    if (words_.empty()) return ConditionError{0, text_.size(), "is empty"};
    const bool known = words_.back().text == "crashed" ? parse_crashed() : parse_quantity_name();
    if (known && condition_.quantity != Quantity::crashed && parse_comparison() && parse_bound()) {
      if (next_ < words_.size()) fail("the condition ends before this");
    }
    if (error_) return *error_;
    return condition_;
  }

 private:
  bool fail(std::string label) {
    const bool at_end = next_ >= words_.size();
    error_ = at_end ? ConditionError{text_.size() - words_.back().text.size(), words_.back().text.size(),
                                     "something is missing after this: " + label}
                    : ConditionError{words_[next_].begin, words_[next_].text.size(), std::move(label)};
    return false;
  }

  bool parse_crashed() {
    condition_.quantity = Quantity::crashed;
    condition_.bound = 1;
    for (; next_ + 1 < words_.size(); ++next_) {
      if (!condition_.node.empty()) condition_.node += ' ';
      condition_.node += words_[next_].text;
    }
    return condition_.node.empty() ? fail("which node?") : true;
  }

  bool parse_quantity_name() {
    const std::string_view name = words_[next_].text;
    const auto here = [&](std::string_view word) {
      return next_ < words_.size() && words_[next_].text == word;
    };
    if (name == "loss" || name == "accuracy" || name == "updates") {
      condition_.quantity = name == "loss"       ? Quantity::loss
                            : name == "accuracy" ? Quantity::accuracy
                                                 : Quantity::updates;
      ++next_;
      return true;
    }
    if (name != "clock") {
      const std::string near = nearest(name, {"loss", "accuracy", "updates", "clock"});
      return fail(near.empty() ? "must be loss, accuracy, updates or clock"
                               : fmt::format("did you mean {}?", near));
    }
    condition_.quantity = Quantity::clock;
    ++next_;
    if (!here("of")) return fail("must be `of worker N`");
    ++next_;
    if (!here("worker")) return fail("must be `worker N`");
    ++next_;
    if (next_ >= words_.size()) return fail("which worker?");
    condition_.node = fmt::format("worker {}", words_[next_++].text);
    return true;
  }

  bool parse_comparison() {
    if (next_ >= words_.size()) return fail("a comparison");
    const std::string_view sign = words_[next_].text;
    const bool counts = condition_.quantity == Quantity::updates || condition_.quantity == Quantity::clock;
    const bool rises = sign == ">" || sign == ">=" || (sign == "=" && counts);
    const bool falls = sign == "<" || sign == "<=";
    if (!rises && !falls) return fail(counts ? "must be =, >= or >" : "must be <, <=, > or >=");
    if (falls && counts) return fail("a count never falls: must be =, >= or >");
    condition_.below = falls;
    condition_.strict = sign.size() == 1 && sign != "=";
    ++next_;
    return true;
  }

  bool parse_bound() {
    if (next_ >= words_.size()) return fail("a number");
    static constexpr UnitName none[] = {{"", 1, 1}};
    const std::optional<double> bound = parse_quantity(words_[next_].text, none);
    if (!bound) return fail("must be a number");
    condition_.bound = *bound;
    const bool counts = condition_.quantity == Quantity::updates || condition_.quantity == Quantity::clock;
    if (counts && (*bound < 0 || *bound != std::floor(*bound))) return fail("must be a count");
    if (condition_.quantity == Quantity::accuracy && (*bound < 0 || *bound > 1))
      return fail("an accuracy is between 0 and 1");
    ++next_;
    return true;
  }

  std::string_view text_;
  std::vector<Word> words_;
  std::size_t next_ = 0;
  FaultCondition condition_;
  std::optional<ConditionError> error_;
};

}  // namespace

std::variant<FaultCondition, ConditionError> parse_condition(std::string_view text) {
  return ConditionParser(text).parse();
}

}  // namespace psim
