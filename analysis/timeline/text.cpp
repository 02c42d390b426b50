#include "analysis/timeline/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/render/svg_chart.hpp"

namespace psim::analysis {
namespace {

struct Letter {
  char letter;
  const char* meaning;
  std::string_view colour;
};
// In the order of Use; the last is an update.
constexpr Letter letters[] = {{'C', "computes", terminal_colour(Use::compute)},
                              {'n', "messages on their way", terminal_colour(Use::network)},
                              {'.', "waits", terminal_colour(Use::wait)},
                              {'s', "a server works", terminal_colour(Use::service)},
                              {'x', "down", terminal_colour(Use::down)},
                              {'u', "an update of the weights", "35"}};
constexpr std::size_t use_kinds = 5, update_cell = 5;

bool is_of_worker(const Lane& lane) { return lane.name.starts_with("worker"); }

class Drawing {
 public:
  Drawing(const Timeline& line, const TimelineText& options) : line_(line), options_(options) {
    const auto width = [](const Lane& lane) { return lane.name.size(); };
    for (const Lane& lane : line.lanes) margin_ = std::max(margin_, width(lane) + 2);
    columns_ = static_cast<std::size_t>(std::max(40, options.width)) - margin_;
    step_ = (options.until - options.from) / static_cast<double>(columns_);
  }

  std::string text() {
    std::string out = scale();
    const auto [shown, left_out] = lanes_to_show(line_, options_.from, options_.until, options_.most_lanes);
    for (const Lane* lane : shown) out += row(*lane);
    if (left_out > 0)
      out += fmt::format(
          "({} more node{}: shown are nodes with faults or slow times, and the nodes that wait and compute "
          "most)\n",
          left_out, left_out == 1 ? "" : "s");
    return out + legend() + waits(shown) + happenings();
  }

 private:
  // Dates above the first, the middle and the last columns.
  std::string scale() const {
    const auto date = [this](double share) {
      return fmt::format("{:.4g}", options_.from + share * (options_.until - options_.from));
    };
    const std::string first = date(0), middle = date(0.5), last = date(1) + " s";
    std::string line(columns_, ' ');
    line.replace(0, first.size(), first);
    line.replace(columns_ / 2, middle.size(), middle);
    line.replace(columns_ - last.size(), last.size(), last);
    std::string ticks(columns_, '-');
    for (const std::size_t tick : {std::size_t{0}, columns_ / 2, columns_ - 1}) ticks[tick] = '|';
    const std::string space(margin_, ' ');
    return space + line + "\n" + space + ticks + "\n";
  }

  bool is_here(double begin, double end) const { return begin < options_.until && end > options_.from; }
  bool is_here(const Mark& mark) const { return mark.at >= options_.from && mark.at <= options_.until; }

  // For each column the use that takes most of it; for a server without a use, whether it made an update.
  std::string row(const Lane& lane) {
    std::vector<std::array<double, use_kinds>> seconds(columns_);
    for (const Span& span : lane.spans) {
      if (!is_here(span.begin, span.end)) continue;
      for (std::size_t i = column(span.begin); i <= column(span.end) && i < columns_; ++i) {
        const double begin = options_.from + static_cast<double>(i) * step_;
        seconds[i][static_cast<std::size_t>(span.use)] +=
            std::max(0.0, std::min(span.end, begin + step_) - std::max(span.begin, begin));
      }
    }
    std::vector<std::size_t> cells(columns_, std::size(letters));
    if (!is_of_worker(lane)) {
      for (const Mark& mark : lane.marks) {
        if (mark.kind == "update" && is_here(mark))
          cells[std::min(column(mark.at), columns_ - 1)] = update_cell;
      }
    }
    for (std::size_t i = 0; i < columns_; ++i) {
      const auto most = std::ranges::max_element(seconds[i]);
      const double nothing = step_ - std::accumulate(seconds[i].begin(), seconds[i].end(), 0.0);
      const bool rules = *most > 0 && (is_of_worker(lane) ? *most >= nothing : true);
      if (rules && cells[i] != update_cell) cells[i] = static_cast<std::size_t>(most - seconds[i].begin());
    }
    std::string out = fmt::format("{:<{}}", lane.name, margin_);
    for (const std::size_t cell : cells) {
      if (cell == std::size(letters)) {
        out += ' ';
        continue;
      }
      used_.insert(cell);
      if (options_.colour)
        out += fmt::format("\033[{}m{}\033[0m", letters[cell].colour, letters[cell].letter);
      else out += letters[cell].letter;
    }
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  }

  std::size_t column(double date) const {
    const double place = (std::max(date, options_.from) - options_.from) / step_;
    return place >= static_cast<double>(columns_) ? columns_ : static_cast<std::size_t>(place);
  }

  std::string legend() const {
    std::string out = fmt::format("A column is {:.3g} s and shows what takes most of it.", step_);
    for (const std::size_t one : used_)
      out += fmt::format(" {}{}: {}", one == *used_.begin() ? "" : " ", letters[one].letter,
                         letters[one].meaning);
    return out + "\n";
  }

  // How long each worker waited, and for which nodes.
  std::string waits(const std::vector<const Lane*>& shown) const {
    std::string out;
    for (const Lane* lane : shown) {
      std::map<std::uint32_t, double> of;
      double sum = 0;
      for (const Span& span : lane->spans) {
        if (span.use != Use::wait || !is_here(span.begin, span.end)) continue;
        const double seconds = std::min(span.end, options_.until) - std::max(span.begin, options_.from);
        of[span.for_node] += seconds;
        sum += seconds;
      }
      if (!(sum > 0)) continue;
      std::vector<std::pair<std::uint32_t, double>> order(of.begin(), of.end());
      std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
      out += fmt::format("  {:<{}}{:>10.4g} s  ", lane->name, margin_, sum);
      constexpr std::size_t most = 3;
      constexpr double little = 0.005;  // of all: 0 %
      std::size_t shown_here = 0;
      double rest = sum;
      for (const auto& [node, seconds] : order) {
        if (shown_here == most || seconds < little * sum) break;
        rest -= seconds;
        out += fmt::format("{}{} {:.0f} %", shown_here++ == 0 ? "" : ", ",
                           node == lane->node ? "no message" : line_.lanes[node].name, 100 * seconds / sum);
      }
      out += rest < little * sum ? "\n" : fmt::format(", others {:.0f} %\n", 100 * rest / sum);
    }
    return out.empty() ? out : "\nWaits, and the nodes that they were for:\n" + out;
  }

  // "workers 4-7": joins names of one role with consecutive numbers.
  static std::string names_of(const std::vector<std::string>& lanes) {
    std::string out, role;
    int first = 0, last = 0;
    const auto close = [&] {
      if (!role.empty() && last > first) out += fmt::format("-{}", last);
    };
    for (const std::string& lane : lanes) {
      const std::size_t blank = lane.find(' ');
      const std::string its_role = lane.substr(0, blank);
      const bool has_number = blank != std::string::npos;
      int number = 0;
      if (has_number) std::from_chars(lane.data() + blank + 1, lane.data() + lane.size(), number);
      if (has_number && its_role == role && number == last + 1) {
        last = number;
        continue;
      }
      close();
      out += out.empty() ? lane : ", " + (has_number && its_role == role ? lane.substr(blank + 1) : lane);
      role = has_number ? its_role : "";
      first = last = number;
    }
    close();
    return out;
  }

  // Faults and slow times, in order of dates; one line if several nodes share it.
  std::string happenings() const {
    std::map<std::tuple<double, std::string>, std::vector<std::string>> lines;
    for (const Shade& shade : line_.shades) {
      if (!is_here(shade.begin, shade.end)) continue;
      const std::string whose = shade.node == Shade::everybody ? "all" : line_.lanes[shade.node].name;
      lines[{shade.begin, fmt::format("{:.4g} s to {:.4g} s  {}", shade.begin, shade.end, shade.text)}]
          .push_back(whose);
    }
    for (const Lane& lane : line_.lanes) {
      for (const Mark& mark : lane.marks) {
        const bool is_rare = mark.kind != "update" && mark.kind != "done";
        if (is_rare && is_here(mark))
          lines[{mark.at, fmt::format("{:.4g} s  {}", mark.at, in_words(mark))}].push_back(lane.name);
      }
    }
    if (lines.empty()) return "";
    std::string out = "\nWhat happened:\n";
    constexpr std::size_t most = 12;
    std::size_t shown = 0;
    for (const auto& [what, lanes] : lines) {
      if (shown++ < most)
        out += fmt::format("  {:<{}}{}\n", names_of(lanes) + " ", margin_, std::get<1>(what));
    }
    return lines.size() > most ? out + fmt::format("  and {} more\n", lines.size() - most) : out;
  }

  const Timeline& line_;
  const TimelineText& options_;
  std::size_t margin_ = 0, columns_ = 0;
  double step_ = 0;
  std::set<std::size_t> used_;  // letters
};

}  // namespace

std::string text_of(const Timeline& line, const TimelineText& options) {
  return Drawing(line, options).text();
}

double end_of_clocks(const Timeline& line, std::int64_t clocks) {
  double end = 0;
  bool go_on = false;
  for (const Lane& lane : line.lanes) {
    for (const Span& span : lane.spans) {
      if (span.use != Use::compute) continue;
      if (span.clock < clocks) end = std::max(end, span.end);
      else go_on = true;
    }
  }
  return go_on ? std::min(end, line.end) : line.end;
}

}  // namespace psim::analysis
