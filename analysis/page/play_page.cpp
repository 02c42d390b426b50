// The page of the playground. Scripts make everything except the frame.
#include <fmt/format.h>

#include "analysis/page/page.hpp"

namespace psim::analysis {
namespace {

constexpr const char* play_body =
#include "analysis/page/play_body.html.inc"
    ;
constexpr const char* play_style =
#include "analysis/page/play.css.inc"
    ;
constexpr const char* lines_script =
#include "analysis/page/timeline.js.inc"
    ;
constexpr const char* lines_frame =
#include "analysis/page/timeline_draw.js.inc"
    ;
constexpr const char* source_script =
#include "analysis/page/play_source.js.inc"
    ;
constexpr const char* play_script =
#include "analysis/page/play.js.inc"
    ;

}  // namespace

std::string play_page(const Json& data) {
  return html_of(
      {.title = "Playground - psim",
       .body = play_body,
       .data = data,
       .script = fmt::format("{}\n{}\n{}\n{}", lines_script, lines_frame, source_script, play_script),
       .style = play_style,
       .asks = !data.contains("results")});
}

}  // namespace psim::analysis
