#include "sim/scenario/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace psim {
namespace {

std::string_view line_of(std::string_view text, std::uint32_t line) {
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return {};
    ++begin;
  }
  std::string_view rest = text.substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Bytes that a terminal might act on, or that are no UTF-8, are not echoed.
std::string printable(std::string_view line, std::size_t limit = 160) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (out.size() >= limit) return out + " ...";
    const auto c = static_cast<unsigned char>(line[i]);
    const std::size_t length = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
    bool good = length > 0 && i + length <= line.size() && (c == '\t' || (c >= 0x20 && c != 0x7F));
    for (std::size_t k = 1; good && k < length; ++k) good = continues(line[i + k]);
    if (!good) {
      out += '?';
      continue;
    }
    out += line.substr(i, length);
    i += length - 1;
  }
  return out;
}

// What stands left of the caret: tabs kept, everything else a space, so that columns line up.
std::string lead(std::string_view line, std::uint32_t column) {
  std::string out;
  std::uint32_t at = 1;
  for (const char c : line) {
    if (continues(c)) continue;
    if (at++ >= column) break;
    out += c == '\t' ? '\t' : ' ';
  }
  out.append(column > at ? column - at : 0, ' ');
  return out;
}

}  // namespace

std::size_t Diagnostics::add_source(Source source) {
  sources_.push_back(std::move(source));
  return sources_.size() - 1;
}

std::string Diagnostics::render(const Diagnostic& d) const {
  const Source& source = sources_[d.place.source];
  std::string out = fmt::format("error[{}]: {}\n", d.code, d.message);
  if (d.place.line == 0) {
    out += fmt::format(" --> {}\n", source.name);
    if (!d.help.empty()) out += fmt::format("  = help: {}\n", d.help);
    return out;
  }
  const std::string number = std::to_string(d.place.line);
  const std::string pad(number.size(), ' ');
  const std::string_view line = line_of(source.text, d.place.line);
  std::uint32_t width = 1;
  if (d.place.end_line == d.place.line && d.place.end_column > d.place.column) {
    width = d.place.end_column - d.place.column;
  }
  out += fmt::format("{}--> {}:{}:{}\n", pad, source.name, d.place.line, d.place.column);
  out += fmt::format("{} |\n{} | {}\n", pad, number, printable(line));
  if (d.place.column <= 160) {
    const std::uint32_t room = static_cast<std::uint32_t>(std::max<std::size_t>(line.size(), d.place.column)) - d.place.column + 1;
    std::string carets(std::min(width, std::max(room, 1U)), '^');
    if (!d.label.empty()) carets += " " + d.label;
    out += fmt::format("{} | {}{}\n", pad, lead(line, d.place.column), carets);
  } else if (!d.label.empty()) {
    out += fmt::format("{} | (at column {}) {}\n", pad, d.place.column, d.label);
  }
  if (!d.help.empty()) out += fmt::format("{} = help: {}\n", pad, d.help);
  return out;
}

std::string Diagnostics::render() const {
  std::vector<Diagnostic> sorted = list_;
  std::ranges::stable_sort(sorted, {}, [](const Diagnostic& d) {
    return std::tuple(d.place.source, d.place.line, d.place.column);
  });
  std::string out;
  constexpr std::size_t most = 100;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) out += render(sorted[i]) + "\n";
  if (sorted.size() > most) out += fmt::format("... and {} more\n", sorted.size() - most);
  out += fmt::format("{} error{} in {}; nothing was run\n", sorted.size(), sorted.size() == 1 ? "" : "s",
                     sources_.empty() ? "the input" : sources_.front().name);
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1] ? 1U : 0U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before = last;
    std::swap(last, current);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace psim
