// SHA-256 (FIPS 180-4), as sha256sum writes it.
#pragma once

#include <string>
#include <string_view>

namespace psim::analysis {

// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace psim::analysis
