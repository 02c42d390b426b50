// Every field of a scenario, declared once: key, type, unit, range and one sentence. Its default is the
// initial value of its member in spec/. If the field may be absent, `default_text` describes its default. The
// reader, the JSON Schema, the reference page and the resolved echo are four visitors of this description.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"
#include "sim/scenario/spec/study.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim {

// One value of a choice field.
struct Choice {
  std::string_view name;
  std::string_view doc;
  std::string_view aliases = {};  // separated by spaces
};

std::vector<std::string> all_names(const std::vector<Choice>& choices);

// An enumeration field. Its value is an index into `choices`.
struct ChoiceField {
  std::vector<Choice> choices;
  std::function<std::size_t()> get;
  std::function<void(std::size_t)> set;
};

using Rows = std::vector<std::vector<double>>;
using Layers = std::vector<Rows>;

using FieldTarget =
    std::variant<bool*, std::optional<bool>*, std::int64_t*, double*, std::string*, Seconds*, Bytes*,
                 BytesPerSecond*, FlopsPerSecond*, Watts*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<Seconds>*, std::optional<Bytes>*,
                 std::optional<BytesPerSecond>*, std::optional<Period>*, std::optional<EvaluationPeriod>*,
                 std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::string>*,
                 std::vector<std::vector<std::string>>*, Rows*, Layers*, Speeds*, ChoiceField>;

// A condition under which a field has an effect, if a single choice cannot express it.
struct Need {
  std::vector<std::string_view> keys = {};  // paths of the fields in the condition
  std::string_view text = {};               // "with copies above 0"
  std::function<bool()> met = {};           // valid when all fields are known
  // The resolved scenario keeps the field although it has no effect: the record shows its value, or it
  // decides the rounding of a time.
  bool kept = false;
};

struct FieldInfo {
  std::string_view doc;
  double min = -HUGE_VAL, max = HUGE_VAL;
  bool above_min = false, below_max = false;  // the bound itself is not allowed
  bool required = false;
  std::size_t fewest = 0;  // elements of a list that is given; an absent list may have another meaning
  bool or_number = false;  // a text that may also be written as an integer
  bool or_one = false;     // a list of one element that may also be written without brackets
  // The field has a meaning only if this choice has one of these values. The choice is in the field's table,
  // or in a table that is described earlier (then with its path: "architecture.kind").
  std::string_view when_key = {};
  std::vector<std::string_view> when = {};
  Need need = {};
  std::string_view default_text = {};  // describes the default of an absent optional
};

// Keys of a table of a study that are fields of a scenario.
struct AnyField {
  enum class Values { one, list, list_or_range } values;
  std::string_view doc;
};

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(std::string_view key, FieldTarget target, FieldInfo info) = 0;
  // The same with `parts` of field_tables.hpp; each part declares one property of the field.
  template <class... Parts>
  void field(std::string_view key, FieldTarget target, std::string_view doc, const Parts&... parts) {
    FieldInfo info{.doc = doc};
    (parts(info), ...);
    field(key, std::move(target), std::move(info));
  }
  // `given`: whether the table is present; for a table whose presence has a meaning.
  virtual void table(std::string_view key, std::string_view doc, const std::function<void()>& fields,
                     bool* given = nullptr) = 0;
  // An array of tables. `resize` sets the number of elements, `element(i)` describes element i. `info`
  // declares when the array has a meaning.
  virtual void tables(std::string_view key, std::string_view doc, std::size_t count,
                      const std::function<void(std::size_t)>& resize,
                      const std::function<void(std::size_t)>& element, const FieldInfo& info = {}) = 0;
  // The table also takes any field or table of a scenario as a key.
  virtual void any_field(const AnyField&) {}
  // The same for `elements`; `describe` declares each of them.
  template <class T, class... Parts>
  void tables(std::string_view key, std::string_view doc, std::vector<T>& elements,
              void (*describe)(FieldVisitor&, T&), const Parts&... parts) {
    FieldInfo info;
    (parts(info), ...);
    tables(
        key, doc, elements.size(), [&](std::size_t count) { elements.resize(count); },
        [&](std::size_t i) { describe(*this, elements[i]); }, info);
  }
};

void describe(FieldVisitor& visitor, Scenario& scenario);
// The tables that a run does not have.
void describe_compare(FieldVisitor& visitor, CompareSpec& compare);
void describe_tune(FieldVisitor& visitor, TuneSpec& tune);

// A field's value as TOML. Reading the text gives the same value. Nothing for an absent optional or an empty
// list: both mean "not given".
std::optional<std::string> toml_text(const FieldTarget& target);

}  // namespace psim
