// Text for HTML, SVG and XML.
#pragma once

#include <string>
#include <string_view>

namespace psim::analysis {

// As text or as the value of an attribute in double quotes. Control characters are left out.
std::string escaped(std::string_view text);

}  // namespace psim::analysis
