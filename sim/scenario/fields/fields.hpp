// Every field of a scenario, declared once: key, type, unit, range and one sentence. Its default is the
// initial value of its member in spec/; where it may be absent, `default_text` says what stands for it. The
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
#include "sim/scenario/spec/units.hpp"

namespace psim {

// One name that a choice field may have.
struct Choice {
  std::string_view name;
  std::string_view doc;
  std::string_view aliases = {};  // separated by spaces
};

// Their names and aliases.
std::vector<std::string> all_names(const std::vector<Choice>& choices);

// An enumeration field: its value as an index into `choices`.
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

// What must be so for a field to change anything, where that is not one choice's doing.
struct Need {
  std::vector<std::string_view> keys = {};  // paths of the fields that decide it
  std::string_view text = {};               // "with copies above 0"
  std::function<bool()> met = {};           // may be asked once all fields are known
  // In the resolved scenario it stays all the same: its value shows in the record, or decides how a time is
  // rounded.
  bool kept = false;
};

struct FieldInfo {
  std::string_view doc;
  double min = -HUGE_VAL, max = HUGE_VAL;
  bool above_min = false, below_max = false;  // the bound itself is not allowed
  bool required = false;
  bool filled = false;  // of a list: it must not be empty, because its absence means more than nothing
  // The field has a meaning only when this choice of its table, or of another one described before it (with
  // its path: "architecture.kind"), has one of these values.
  std::string_view when_key = {};
  std::vector<std::string_view> when = {};
  Need need = {};
  std::string_view default_text = {};  // what stands for an absent optional
};

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(std::string_view key, FieldTarget target, FieldInfo info) = 0;
  // The same, as field_parts.hpp has it: each of `parts` says one thing of the field.
  template <class... Parts>
  void field(std::string_view key, FieldTarget target, std::string_view doc, const Parts&... parts) {
    FieldInfo info{.doc = doc};
    (parts(info), ...);
    field(key, std::move(target), std::move(info));
  }
  // `given`: of a table that means something by being there, whether it is.
  virtual void table(std::string_view key, std::string_view doc, const std::function<void()>& fields,
                     bool* given = nullptr) = 0;
  // An array of tables: `resize` makes room for n elements, `element(i)` describes the i-th. `info` says
  // when it has a meaning.
  virtual void tables(std::string_view key, std::string_view doc, std::size_t count,
                      const std::function<void(std::size_t)>& resize,
                      const std::function<void(std::size_t)>& element, const FieldInfo& info = {}) = 0;
  // The same of `elements`, each of which `describe` declares.
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

}  // namespace psim
