// For tests of psim calibrate.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

namespace psim::test {

inline void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

// The fitted values of calibration.json, by field.
inline Json values_of(const Json& calibration) {
  Json values;
  for (const Json& one : calibration["network"]["values"]) values[one["field"].get<std::string>()] = one;
  return values;
}

inline void says(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace psim::test
