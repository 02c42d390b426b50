// HTML as text. Numbers are made of a document, and say exactly what they are and where they stand in it, so
// that a page cannot say anything else than the document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analysis/columns.hpp"
#include "analysis/render/markup.hpp"

namespace psim::analysis {

using Json = nlohmann::ordered_json;

// The head of a column, with what it holds for those who point at it. `classes`: of CSS.
std::string head(std::string_view heading, std::string_view doc, const char* classes = "");
std::string head(ColumnName name, const char* classes = "");

// JSON that no HTML parser takes for the end of its <script>.
std::string script_json(const Json& json);

// How a number is shown.
struct Shape {
  int digits = 3;           // significant ones, if `decimals` is not given
  double scale = 1;         // 100 for a share in percent
  int decimals = -1;        // behind the point
  const char* unit = "";    // with its blank
  bool is_inverse = false;  // 1 / value
};
inline constexpr Shape as_percent{.scale = 100, .decimals = 0, .unit = " %"};
inline constexpr Shape as_seconds{.unit = " s"};
inline constexpr Shape as_megabytes{.scale = 1e-6, .unit = " MB"};

// "2.93 s"; "-" for null.
std::string shown(const Json& value, const Shape& shape = {});

// Shows numbers of one document.
class Numbers {
 public:
  explicit Numbers(const Json& document) : document_(document) {}
  // `path`: a JSON pointer. `doc`: what the number is, for those who point at it.
  std::string operator()(const std::string& path, const Shape& shape = {}, std::string_view doc = {}) const;
  // The value at `path` with a text that says more than the number.
  std::string told(const std::string& path, const std::string& text, std::string_view doc = {}) const;
  // Null where there is none.
  const Json& at(const std::string& path) const;

 private:
  const Json& document_;
};

}  // namespace psim::analysis
