// The charts of a run: time line, loss, staleness, clocks, traffic.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "analysis/export/exports.hpp"
#include "analysis/render/svg_chart.hpp"
#include "analysis/study/curves.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/timeline/choice.hpp"

namespace psim::analysis {

// The charts of a study: mean curves with bands, times, and time against traffic.

namespace {

constexpr std::size_t curve_points = 200, most_conditions = 24;

// A row of the chart of times: the lines of its name, its mean and its interval.
struct TimeRow {
  std::vector<std::string> name;
  std::size_t arm = 0;
  std::optional<double> mean;
  std::optional<statistics::Interval> interval;
  std::string note;  // next to it
};

TimeRow row_of(const Study& study, const Aggregate& one, double width) {
  TimeRow row{.name = wrapped_in_mm(arm_label(one.cell->arm), width),
              .arm = series_of_arm(study, one.cell->arm),
              .mean = mean_time(one),
              .interval = time_interval(one),
              .note = ""};
  if (!row.mean) row.note = "a run got stuck";
  else if (one.time_to_target && one.reached < one.n)
    row.note = fmt::format("{} of {} reached", one.reached, one.n);
  return row;
}

// Runs that miss the target count with the budget; the label of the axis says so.
std::string times_label(const ConditionAggregates& condition) {
  if (std::ranges::none_of(condition, [](const Aggregate* one) { return one->time_to_target.has_value(); }))
    return "length of the run [s]";
  for (const Aggregate* one : condition) {
    if (one->time_to_target && one->time_to_target->cut > 0)
      return fmt::format("time to the target [s], at most {:.4g} s", one->time_to_target->budget_s);
  }
  return "time to the target [s]";
}

// Draws the rows of times.
class Times {
 public:
  Times(const Study& study, const ConditionAggregates& condition, const std::string& title, double width)
      : title_(wrapped_in_mm(title, width - 4)), label_(times_label(condition)), width_(width) {
    double widest = 10, widest_word = 0, most = 0;
    for (const Aggregate* one : condition) {
      const std::string arm = arm_label(one->cell->arm);
      widest = std::max(widest, text_width(arm));
      std::istringstream words(arm);
      for (std::string word; words >> word;) widest_word = std::max(widest_word, text_width(word));
    }
    left_ = 3 + std::min({widest, std::max(0.4 * width, widest_word), 0.55 * width});
    for (const Aggregate* one : condition) {
      const TimeRow& row = rows_.emplace_back(row_of(study, *one, left_ - 3));
      most = std::max({most, row.mean.value_or(0), row.interval ? row.interval->high : 0});
    }
    end_ = most > 0 ? 1.04 * most : 1;
  }

  std::string document() const {
    std::string body;
    double top = 1 + text_mm;
    for (const std::string& part : title_) {
      body += svg_text(2, top, part);
      top += line_mm;
    }
    const double begin = title_.empty() ? 2 : top - 1;
    double bottom = begin;
    std::string rows;
    for (const TimeRow& one : rows_) {
      const double height = line_mm * static_cast<double>(std::max<std::size_t>(1, one.name.size())) + 2;
      const bool is_noted_below = !one.note.empty() && !note_place(one);
      rows += row(one, bottom, height);
      bottom += height + (is_noted_below ? line_mm : 0);
    }
    for (const double value : ticks(0, end_, std::clamp(static_cast<int>((right() - left_) / 10), 2, 6))) {
      body += fmt::format("<path d=\"M{:.2f} {:.2f}V{:.2f}\" stroke=\"#ccc\" stroke-width=\"0.1\"/>\n",
                          x(value), begin, bottom);
      body += svg_text(x(value), bottom + 1.2 + text_mm, fmt::format("{:.6g}", value), "middle");
    }
    body += fmt::format(
        "<path d=\"M{:.2f} {:.2f}V{:.2f}H{:.2f}\" fill=\"none\" stroke=\"#000\" stroke-width=\"0.2\"/>\n",
        left_, begin, bottom, right());
    double line = bottom + 2.6 + 2 * text_mm;
    for (const std::string& part : wrapped_in_mm(label_, width_ - 4)) {
      const double half = text_width(part) / 2, middle = std::min((left_ + right()) / 2, width_ - 2 - half);
      body += svg_text(middle, line, part, "middle");
      line += line_mm;
    }
    return svg_document(width_, line - line_mm + 1.4, body + rows);
  }

 private:
  double right() const { return width_ - 4; }
  double x(double value) const { return left_ + (right() - left_) * std::clamp(value / end_, 0.0, 1.0); }

  // Right or left of the interval; none if there is no room.
  std::optional<std::pair<double, const char*>> note_place(const TimeRow& one) const {
    constexpr double gap = 1.5;
    const double width = text_width(one.note);
    if (!one.mean) return std::pair{left_ + gap, "start"};
    const double low = x(one.interval ? one.interval->low : *one.mean);
    const double high = x(one.interval ? one.interval->high : *one.mean);
    if (high + gap + width <= width_) return std::pair{high + gap, "start"};
    if (low - gap - width >= left_) return std::pair{low - gap, "end"};
    return std::nullopt;
  }

  std::string row(const TimeRow& one, double top, double height) const {
    const double middle = top + height / 2;
    std::string out;
    double line = middle + text_mm / 3 - line_mm * (static_cast<double>(one.name.size()) - 1) / 2;
    for (const std::string& part : one.name) {
      out += svg_text(left_ - 1.5, line, part, "end");
      line += line_mm;
    }
    const char* colour = arm_colours[one.arm % std::size(arm_colours)];
    if (one.interval)
      out += fmt::format(
          "<path d=\"M{:.3f} {:.2f}H{:.3f}\" stroke=\"{}\" stroke-width=\"1.4\" stroke-opacity=\"0.4\"/>\n",
          x(one.interval->low), middle, x(one.interval->high), colour);
    if (one.mean)
      out += fmt::format("<circle cx=\"{:.3f}\" cy=\"{:.2f}\" r=\"0.9\" fill=\"{}\"/>\n", x(*one.mean),
                         middle, colour);
    if (one.note.empty()) return out;
    if (const auto place = note_place(one); place)
      return out + svg_text(place->first, middle + text_mm / 3, one.note, place->second);
    return out + svg_text(left_ + 1.5, top + height + text_mm * 0.8, one.note);
  }

  std::vector<std::string> title_;
  std::string label_;
  double width_, left_ = 0, end_ = 1;
  std::vector<TimeRow> rows_;
};

class Pictures {
 public:
  Pictures(const Study& study, const Evaluation& evaluation, double width)
      : study_(study), conditions_(by_condition(evaluation.aggregates)), width_(width) {}

  StudyPictures made() {
    if (conditions_.size() > most_conditions)
      made_.remarks.push_back(fmt::format("the charts are those of the first {} of {} conditions",
                                          most_conditions, conditions_.size()));
    add_curves("loss", {.shows = "loss"});
    add_curves("accuracy", {.shows = "accuracy"});
    const std::size_t shown = std::min(conditions_.size(), most_conditions);
    for (std::size_t i = 0; i < shown; ++i)
      add("times", i, Times(study_, conditions_[i], title_of(i), width_).document());
    for (std::size_t i = 0; i < shown; ++i) add_pareto(i);
    return std::move(made_);
  }

 private:
  std::string title_of(std::size_t condition) const {
    return condition_label(study_, *conditions_[condition].front()->cell);
  }
  std::string file_of(const char* chart, std::size_t condition) const {
    return conditions_.size() == 1 ? fmt::format("{}.svg", chart)
                                   : fmt::format("{}-{}.svg", chart, condition + 1);
  }
  void add(const char* chart, std::size_t condition, std::string text) {
    made_.pictures.push_back({file_of(chart, condition), std::move(text)});
  }

  void add_curves(const char* chart, const CurveAxes& axes) {
    const std::vector<ConditionCurves> all = mean_curves(study_, curve_points, axes);
    for (std::size_t i = 0; i < std::min(all.size(), most_conditions); ++i) {
      const Plot plot = plot_of(study_, all[i], axes.shows);
      if (plot.lines.empty()) continue;
      std::vector<std::string> without;
      for (const MeanCurve& curve : all[i].curves) {
        if (curve.band.empty()) without.push_back(curve.label);
      }
      if (!without.empty())
        made_.remarks.push_back(
            fmt::format("{} has no curve of {}: the runs have no {} or no times in common", file_of(chart, i),
                        fmt::join(without, ", "), axes.shows));
      add(chart, i, svg(plot, width_));
    }
  }

  // Same content as the chart of the page.
  void add_pareto(std::size_t condition) {
    const std::vector<Cost> costs = costs_of(conditions_[condition]);
    if (costs.size() < 2) return;
    if (!sent_alike(costs))
      return add("pareto", condition, svg(plot_of(study_, costs, title_of(condition)), width_));
    made_.remarks.push_back(
        fmt::format("there is no {}: all arms sent the same, within 1 %", file_of("pareto", condition)));
  }

  const Study& study_;
  std::vector<ConditionAggregates> conditions_;
  double width_;
  StudyPictures made_;
};

}  // namespace

StudyPictures study_pictures(const Study& study, const Evaluation& evaluation, double width_mm) {
  return Pictures(study, evaluation, width_mm).made();
}

namespace {

std::string time_line(const Recording& window, double width) {
  constexpr double left = 18, top = 4, row = 4, right = 3;
  const auto [lanes, left_out] = lanes_to_show(window.line, window.from, window.until, lanes_of_a_page);
  const double bottom = top + row * static_cast<double>(lanes.size());
  const double scale = (width - left - right) / (window.until - window.from);
  const auto x = [&](double at) { return left + (at - window.from) * scale; };
  std::string body;
  const int marks = std::clamp(static_cast<int>((width - left - right) / 10), 2, 6);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const double y = top + row * static_cast<double>(i);
    body += svg_text(left - 1, y + row * 0.75, fitted(lanes[i]->name, left - 1), "end");
    for (const Span& span : lanes[i]->spans)
      body += fmt::format(
          "<rect x=\"{:.3f}\" y=\"{:.2f}\" width=\"{:.3f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x(span.begin),
          y + 0.4, (span.end - span.begin) * scale, row - 0.8, colour_of(span.use));
    for (const Mark& mark : lanes[i]->marks)
      body += fmt::format("<path d=\"M{:.3f} {:.2f}v{:.2f}\" stroke=\"#000\" stroke-width=\"0.2\"/>\n",
                          x(mark.at), y, row);
  }
  for (const double at : ticks(window.from, window.until, marks)) {
    body +=
        fmt::format("<path d=\"M{:.3f} {:.2f}v1\" stroke=\"#000\" stroke-width=\"0.2\"/>\n", x(at), bottom);
    body += svg_text(x(at), bottom + 4, fmt::format("{:.6g}", at), "middle");
  }
  body += svg_text((left + width - right) / 2, bottom + 7.5, "simulated time [s]", "middle");
  if (left_out > 0)
    body += svg_text(width - right, top - 1,
                     fmt::format("{} node{} left out", left_out, left_out == 1 ? "" : "s"), "end");
  constexpr double box = 2.6, gap = 4;
  double place = left, legend = bottom + 9;
  for (const auto& [use, colour] : use_colours) {
    const std::string name(name_of(use));
    const double of_this = box + text_width(name);
    if (place > left && place + of_this > width) {
      place = left;
      legend += row;
    }
    body += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"2\" height=\"2\" fill=\"{}\"/>\n", place,
                        legend, colour);
    body += svg_text(place + box, legend + 1.9, name);
    place += of_this + gap;
  }
  return svg_document(width, legend + 3, body);
}

Plot loss(const Recording& all) {
  Plot plot{.title = all.name, .x_label = "simulated time [s]", .y_label = "loss", .lines = {}};
  plot.logarithmic = true;
  for (const LossCurve& curve : all.curves) {
    plot.lines.push_back({curve.name, curve.points});
    for (const auto& point : curve.points) plot.logarithmic = plot.logarithmic && point.second > 0;
  }
  return plot;
}

// For each staleness: the share of pushes with at most this staleness.
Plot staleness(const Recording& all) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const Applied& push : all.applied) ++counts[push.staleness];
  Plot plot{.title = all.name,
            .x_label = "staleness [updates]",
            .y_label = "share of pushes with at most this staleness",
            .lines = {}};
  if (counts.empty()) return plot;
  Line line{.name = "", .points = {{0, 0}}, .is_step = true};
  std::int64_t sum = 0;
  for (const auto& [updates, count] : counts) {
    sum += count;
    line.points.emplace_back(static_cast<double>(updates),
                             static_cast<double>(sum) / static_cast<double>(all.applied.size()));
  }
  line.points.emplace_back(line.points.back().first + 1, 1);
  plot.lines.push_back(std::move(line));
  return plot;
}

// The clock of each worker over time; of many workers only the first and the last, by their last clock.
Plot clocks(const Recording& all) {
  std::map<std::uint32_t, Line> lines;
  for (const Begun& one : all.begun) {
    Line& line =
        lines.try_emplace(one.worker, Line{fmt::format("worker {}", one.worker), {}, true}).first->second;
    line.points.emplace_back(one.at, static_cast<double>(one.clock));
  }
  std::vector<Line> order;
  for (auto& [worker, line] : lines) order.push_back(std::move(line));
  const auto last = [](const Line& line) { return line.points.back(); };
  constexpr std::size_t most = 8;
  std::string title = all.name;
  if (order.size() > most) {
    title += fmt::format("; the {} workers that are last and first of {}", most, order.size());
    std::ranges::stable_sort(order,
                             [&](const Line& a, const Line& b) { return last(a).second < last(b).second; });
    order.erase(order.begin() + most / 2, order.end() - most / 2);
  }
  return {.title = title, .x_label = "simulated time [s]", .y_label = "clock", .lines = std::move(order)};
}

// Bytes sent until each date, by kind of message; only the kinds with the most bytes.
Plot traffic(const Recording& all) {
  std::map<std::string, std::vector<std::pair<double, double>>> of_kind;
  for (const Message& message : all.messages) {
    auto& points = of_kind[message.kind];
    const double before = points.empty() ? 0 : points.back().second;
    if (points.empty()) points.emplace_back(all.from, 0);
    points.emplace_back(message.sent, before + static_cast<double>(message.bytes) / 1e6);
  }
  Plot plot{.title = all.name, .x_label = "simulated time [s]", .y_label = "sent [MB]", .lines = {}};
  for (auto& [kind, points] : of_kind) {
    points.emplace_back(all.until, points.back().second);
    if (points.back().second > 0) plot.lines.push_back({kind, std::move(points), true});
  }
  std::ranges::stable_sort(plot.lines, [](const Line& a, const Line& b) {
    return a.points.back().second > b.points.back().second;
  });
  constexpr std::size_t most = 6;
  if (plot.lines.size() <= most) return plot;
  plot.title += fmt::format("; {} smaller kinds left out", plot.lines.size() - most);
  plot.lines.resize(most);
  return plot;
}

// A line on a page has fewer than a thousand visible places; more points would not be seen.
void thin(Line& line) {
  constexpr std::size_t most = 2000;
  if (line.points.size() <= most) return;
  const std::size_t every = (line.points.size() + most - 1) / most;
  std::vector<std::pair<double, double>> kept;
  for (std::size_t i = 0; i < line.points.size(); i += every) kept.push_back(line.points[i]);
  if ((line.points.size() - 1) % every != 0) kept.push_back(line.points.back());
  line.points = std::move(kept);
}

}  // namespace

std::vector<Picture> pictures(const Recording& all, const Recording& window, double width_mm) {
  std::vector<Picture> made{{"timeline.svg", time_line(window, width_mm)}};
  const auto add = [&](const char* name, Plot plot) {
    std::ranges::for_each(plot.lines, thin);
    if (!plot.lines.empty()) made.push_back({name, svg(plot, width_mm)});
  };
  add("loss.svg", loss(all));
  add("staleness.svg", staleness(all));
  add("clocks.svg", clocks(all));
  add("traffic.svg", traffic(all));
  return made;
}

}  // namespace psim::analysis
