#include "analysis/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/render/html.hpp"

namespace psim::analysis {

const char* const bar_keys =
    "<span class=\"key compute\"></span> computing, <span class=\"key network\"></span> on the network, "
    "<span class=\"key wait\"></span> waiting, <span class=\"key absent\"></span> absent";

std::string section(const char* id, const std::string& heading, const std::string& intro,
                    const std::string& content) {
  if (content.empty()) return "";
  return fmt::format("<section id=\"{}\"><h2>{}</h2>{}{}</section>", id, heading,
                     intro.empty() ? "" : fmt::format("<p class=\"intro\">{}</p>", intro), content);
}

Json goal_of(const Json& target) {
  constexpr double percent = 100;
  if (!target.contains("accuracy") || !target["accuracy"].is_number()) return nullptr;
  return {{"accuracy", percent * target["accuracy"].get<double>()}};
}

std::string share_bar(const Numbers& numbers, const std::string& path) {
  std::string out;
  for (const char* use : {"compute", "network", "wait", "absent"}) {
    const std::string place = fmt::format("{}/{}_share", path, use);
    const double share = numbers.at(place).get<double>();
    if (!(share > 0)) continue;
    out += fmt::format("<span class=\"use {}\" style=\"width:{:.3f}%\"><span>{}</span></span>", use,
                       100 * share, numbers(place, as_percent, use));
  }
  return fmt::format("<span class=\"bar\">{}</span>", out);
}

std::string share_bars(const Numbers& numbers, const std::string& path, std::size_t workers,
                       std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(workers, most); ++i)
    out += fmt::format("<div class=\"row\"><span class=\"who\">worker {}</span>{}</div>", i,
                       share_bar(numbers, fmt::format("{}/workers/{}", path, i)));
  if (workers > most) out += fmt::format("<p>... and {} more</p>", workers - most);
  return out;
}

std::string picture(const Plot& plot, const std::string& name) {
  return fmt::format("<figure class=\"picture\" role=\"img\" aria-label=\"{}\">{}</figure>", escaped(name),
                     svg_within_page(plot));
}

std::string still_picture(const Plot& plot, const std::string& name) {
  return plot.lines.empty() ? "" : fmt::format("<noscript>{}</noscript>", picture(plot, name));
}

// The frame of a page, with its style, scripts and licence.

namespace {

constexpr const char frame[] =
#include "analysis/page/page.html.inc"
    ;
constexpr const char licence[] =
#include "analysis/page/uplot-licence.txt.inc"
    ;
constexpr const char style[] =
#include "analysis/page/bundle.css.inc"
    ;
constexpr const char script[] =
#include "analysis/page/bundle.js.inc"
    ;

}  // namespace

std::string html_of(const Sheet& sheet) {
  const bool is_report = sheet.script == nullptr;
  return fmt::format(
      frame, fmt::arg("title", escaped(sheet.title)), fmt::arg("licence", is_report ? licence : ""),
      fmt::arg("style", is_report ? style : sheet.style),
      fmt::arg("connect", sheet.asks ? "; connect-src 'self'" : ""), fmt::arg("body", sheet.body),
      fmt::arg("data", script_json(sheet.data)), fmt::arg("script", is_report ? script : sheet.script));
}

}  // namespace psim::analysis
