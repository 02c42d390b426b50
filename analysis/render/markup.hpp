// Text for HTML, SVG and XML.
#pragma once

#include <string>
#include <string_view>

namespace psim::analysis {

// Escapes `text` for content, or for an attribute in double quotes. Drops control characters.
std::string escaped(std::string_view text);

}  // namespace psim::analysis
