// HTML as text. Each number comes from a JSON document and carries its exact value and its place there, so a
// page cannot contradict the document.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "analysis/word_docs.hpp"

namespace psim::analysis {

// Text for HTML, SVG and XML.

// Escapes `text` for content, or for an attribute in double quotes. Drops control characters.
std::string escaped(std::string_view text);

using Json = nlohmann::ordered_json;

// The head of a column; its meaning shows when a reader points at it. `classes`: of CSS.
std::string head(std::string_view heading, std::string_view doc, const char* classes = "");
std::string head(ColumnName name, const char* classes = "");

// JSON that no HTML parser mistakes for the end of its <script>.
std::string script_json(const Json& json);

// The format of a number.
struct Shape {
  int digits = 3;           // significant digits, if `decimals` is not given
  double scale = 1;         // 100 for a share in percent
  int decimals = -1;        // after the decimal point
  const char* unit = "";    // with its leading space
  bool is_inverse = false;  // 1 / value
};
inline constexpr Shape as_percent{.scale = 100, .decimals = 0, .unit = " %"};
inline constexpr Shape as_seconds{.unit = " s"};
inline constexpr Shape as_megabytes{.scale = 1e-6, .unit = " MB"};

// "2.93 s"; "-" for null.
std::string shown(const Json& value, const Shape& shape = {});

// Shows the numbers of one document.
class Numbers {
 public:
  explicit Numbers(const Json& document) : document_(document) {}
  // `path`: a JSON pointer. `doc`: the meaning of the number, shown when a reader points at it.
  std::string operator()(const std::string& path, const Shape& shape = {}, std::string_view doc = {}) const;
  // The value at `path`, shown as `text`, which may say more than the number.
  std::string told(const std::string& path, const std::string& text, std::string_view doc = {}) const;
  // Null if there is no value.
  const Json& at(const std::string& path) const;

 private:
  const Json& document_;
};

}  // namespace psim::analysis
