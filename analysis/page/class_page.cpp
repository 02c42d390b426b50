// The page of a class. Phones load it all at once, so it has only its own scripts.
#include "analysis/page/page.hpp"

namespace psim::analysis {
namespace {

constexpr const char class_body[] =
#include "analysis/page/class_body.html.inc"
    ;
constexpr const char class_style[] =
#include "analysis/page/class_bundle.css.inc"
    ;
constexpr const char class_script[] =
#include "analysis/page/class_bundle.js.inc"
    ;

}  // namespace

std::string class_page() {
  return html_of({.title = "Class - psim",
                  .body = class_body,
                  .data = {{"kind", "class"}},
                  .asks = true,
                  .style = class_style,
                  .script = class_script});
}

}  // namespace psim::analysis
