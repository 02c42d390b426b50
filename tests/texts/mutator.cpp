#include "tests/texts/mutator.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

namespace psim::test {
namespace {

using Texts = std::vector<std::string>;

template <class List>
auto& any_of(List& list, Stream& stream) {
  return list[stream.below(std::size(list))];
}

Texts lines_of(const std::string& text) {
  Texts lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string joined(const Texts& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

enum class Kind { word, number, blank, sign };
Kind kind_of(char c) {
  if (std::isdigit(static_cast<unsigned char>(c)) != 0) return Kind::number;
  if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<signed char>(c) < 0)
    return Kind::word;
  return c == ' ' || c == '\n' || c == '\t' ? Kind::blank : Kind::sign;
}

// Where each run of characters of one kind begins and ends; a sign stands alone.
std::vector<std::pair<std::size_t, std::size_t>> words_of(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    const Kind kind = kind_of(text[i]);
    while (kind != Kind::sign && end < text.size() && kind_of(text[end]) == kind) ++end;
    if (kind != Kind::blank) words.emplace_back(i, end - i);
    i = end;
  }
  return words;
}

constexpr std::array<std::string_view, 34> extremes{"0",
                                                    "-1",
                                                    "1",
                                                    "2",
                                                    "3",
                                                    "-0",
                                                    "0.0",
                                                    "1e-300",
                                                    "5e-324",
                                                    "1e300",
                                                    "1.8e308",
                                                    "inf",
                                                    "-inf",
                                                    "nan",
                                                    "9223372036854775807",
                                                    "-9223372036854775808",
                                                    "9223372036854775808",
                                                    "4294967296",
                                                    "2147483647",
                                                    "1_000_000",
                                                    "0x7fffffffffffffff",
                                                    "0b1",
                                                    "1e9",
                                                    "1e-9",
                                                    "0.5",
                                                    "0.999999999999",
                                                    "1.0000000001",
                                                    "1979-05-27T07:32:00Z",
                                                    "\"1e400s\"",
                                                    "\"0s\"",
                                                    "\"-1ms\"",
                                                    "\"1ns\"",
                                                    "\"99999999h\"",
                                                    "\"nan s\""};
constexpr std::array<std::string_view, 22> units{
    "s",  "ms", "us",      "ns",    "min",    "h", "Gbps", "kbps", "B",   "GB", "MiB",
    "Gf", "f",  "updates", "steps", "epochs", "%", "Bps",  "MBps", "GiB", "x",  ""};
constexpr std::array<std::string_view, 20> strange{"\"",
                                                   "'",
                                                   "\"\"\"",
                                                   "'''",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   "[[",
                                                   "#",
                                                   "=",
                                                   ",",
                                                   ".",
                                                   "\\",
                                                   "\xc3\xa9",
                                                   "\xe2\x80\xae",
                                                   "\xf0\x9f\x98\x80",
                                                   "\xff",
                                                   "\xc3",
                                                   "\r"};

std::string repeated(std::string_view part, std::size_t times) {
  std::string out;
  while (times-- > 0) out += part;
  return out;
}

std::string deep_or_long(Stream& stream) {
  const auto often = static_cast<std::size_t>(1) << stream.below(15);
  switch (stream.below(8)) {
    case 0: return "x" + repeated(".x", often) + " = 1";
    case 1: return "seed = " + repeated("[", often) + repeated("]", stream.below(2) * often);
    case 2: return "seed = " + repeated("{ a = ", often);
    case 3: return "[" + repeated("a.", often) + "b]";
    case 4: return repeated("k", often) + " = 1";
    case 5: return "title = \"" + repeated("long ", often) + "\"";
    case 6: return repeated("[[fault]]\n", std::min<std::size_t>(often, 512));
    default: return "straggler = [" + repeated("{ workers = [0] },", std::min<std::size_t>(often, 512)) + "]";
  }
}

void change_lines(std::string& text, const Texts& corpus, Stream& stream) {
  Texts lines = lines_of(text);
  const auto at = static_cast<std::ptrdiff_t>(stream.below(lines.size()));
  switch (stream.below(7)) {
    case 0: lines.erase(lines.begin() + at); break;
    case 1: lines.insert(lines.begin() + at, std::string(lines[static_cast<std::size_t>(at)])); break;
    case 2: std::swap(lines[static_cast<std::size_t>(at)], any_of(lines, stream)); break;
    case 3: {
      const Texts others = lines_of(any_of(corpus, stream));
      lines.insert(lines.begin() + at, any_of(others, stream));
      break;
    }
    case 4: lines.insert(lines.begin() + at, deep_or_long(stream)); break;
    case 5: {  // a whole table of another text
      const Texts others = lines_of(any_of(corpus, stream));
      std::size_t begin = stream.below(others.size());
      while (begin > 0 && !others[begin].starts_with('[')) --begin;
      std::size_t end = begin + 1;
      while (end < others.size() && !others[end].starts_with('[')) ++end;
      lines.insert(lines.end(), others.begin() + static_cast<std::ptrdiff_t>(begin),
                   others.begin() + static_cast<std::ptrdiff_t>(end));
      break;
    }
    default: {  // the beginning of one and the end of another
      const Texts others = lines_of(any_of(corpus, stream));
      lines.resize(static_cast<std::size_t>(at));
      lines.insert(lines.end(), others.begin() + static_cast<std::ptrdiff_t>(stream.below(others.size())),
                   others.end());
      break;
    }
  }
  text = joined(lines);
}

void change_words(std::string& text, const Texts& corpus, Stream& stream) {
  const auto words = words_of(text);
  if (words.empty()) return;
  const auto [at, length] = any_of(words, stream);
  const std::string word = text.substr(at, length);
  const bool number = kind_of(word[0]) == Kind::number;
  switch (stream.below(8)) {
    case 0: text.erase(at, length); break;
    case 1: text.insert(at, word); break;
    case 2: {
      const auto [other, other_length] = any_of(words, stream);
      text.replace(at, length, text.substr(other, other_length));
      break;
    }
    case 3: {
      const std::string& other = any_of(corpus, stream);
      const auto theirs = words_of(other);
      if (theirs.empty()) return;
      const auto [begin, count] = any_of(theirs, stream);
      text.replace(at, length, other.substr(begin, count));
      break;
    }
    case 4: text.insert(at + stream.below(length + 1), any_of(strange, stream)); break;
    case 5: text.replace(at, length, number ? any_of(extremes, stream) : any_of(units, stream)); break;
    case 6: text[at] = static_cast<char>(text[at] ^ (1 << stream.below(7))); break;
    default: {  // a number, wherever the next one is
      for (const auto& [begin, count] : words) {
        if (begin < at || kind_of(text[begin]) != Kind::number) continue;
        text.replace(begin, count, any_of(extremes, stream));
        return;
      }
    }
  }
}

}  // namespace

std::string mutated_text(const std::vector<std::string>& corpus, Stream& stream) {
  std::string text = any_of(corpus, stream);
  for (std::uint64_t changes = 1 + stream.below(4); changes > 0; --changes) {
    if (stream.below(3) == 0) change_lines(text, corpus, stream);
    else change_words(text, corpus, stream);
  }
  return text;
}

std::string mutated_bytes(const std::vector<std::string>& corpus, Stream& stream) {
  std::string bytes = any_of(corpus, stream);
  for (std::uint64_t changes = 1 + stream.below(4); changes > 0; --changes) {
    const std::size_t at = stream.below(bytes.size() + 1), count = 1 + stream.below(8);
    switch (stream.below(7)) {
      case 0: bytes.erase(at, count); break;
      case 1: bytes.insert(at, bytes.substr(at, count)); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(at, 1, static_cast<char>(stream.below(256))); break;
      case 4: bytes.insert(at, any_of(extremes, stream)); break;
      case 5: {
        const std::string& other = any_of(corpus, stream);
        bytes = bytes.substr(0, at) + other.substr(stream.below(other.size() + 1));
        break;
      }
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(stream.below(256));
    }
  }
  return bytes;
}

}  // namespace psim::test
