// Catch2, whichever of its two generations is installed: 2.13 is one header, 3 is a library in parts. Tests
// include this file and no other of Catch2, and read the same under both.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)

#include <catch2/catch_approx.hpp>
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

using Catch::Approx;

namespace Catch {
namespace Matchers {

inline auto Contains(const std::string& text) { return ContainsSubstring(text); }

}  // namespace Matchers
using Matchers::Contains;
}  // namespace Catch

#else

#include <catch2/catch.hpp>

#endif
