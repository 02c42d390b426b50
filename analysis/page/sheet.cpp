// The frame of a page, with its style, scripts and licence.
#include <fmt/format.h>

#include "analysis/page/page.hpp"
#include "analysis/render/html.hpp"

namespace psim::analysis {
namespace {

constexpr const char frame[] =
#include "analysis/page/page.html.inc"
    ;
constexpr const char licence[] =
#include "analysis/page/dygraphs-licence.txt.inc"
    ;
constexpr const char chart_style[] =
#include "analysis/page/dygraph.min.css.inc"
    ;
constexpr const char style[] =
#include "analysis/page/page.css.inc"
    ;
constexpr const char charts[] =
#include "analysis/page/dygraph.min.js.inc"
    ;
constexpr const char script[] =
#include "analysis/page/page.js.inc"
    ;

}  // namespace

std::string html_of(const Sheet& sheet) {
  return fmt::format(frame, fmt::arg("title", escaped(sheet.title)), fmt::arg("licence", licence),
                     fmt::arg("style", fmt::format("{}\n{}\n{}", chart_style, style, sheet.style)),
                     fmt::arg("connect", sheet.asks ? "; connect-src 'self'" : ""),
                     fmt::arg("body", sheet.body), fmt::arg("data", script_json(sheet.data)),
                     fmt::arg("script", fmt::format("{}\n{}\n{}", charts, script, sheet.script)));
}

}  // namespace psim::analysis
