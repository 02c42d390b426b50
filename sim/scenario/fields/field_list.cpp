#include "sim/scenario/fields/field_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/scenario/fields/fields.hpp"

namespace psim {
namespace {

// Collects every field with its current value.
class Collector final : public FieldVisitor {
 public:
  void field(std::string_view key, FieldTarget target, FieldInfo info) override {
    list.fields.push_back({path_, std::string(key), info, target, toml_text(target)});
  }
  void table(std::string_view key, std::string_view doc, const std::function<void()>& content,
             bool*) override {
    enter(key, std::string(doc), false, content);
  }
  void tables(std::string_view key, std::string_view doc, std::size_t,
              const std::function<void(std::size_t)>& resize, const std::function<void(std::size_t)>& element,
              const FieldInfo& info = {}) override {
    resize(1);
    enter(key, std::string(doc) + when_text(info), true, [&] { element(0); });
  }

  void any_field(const AnyField& any) override {
    std::ranges::find(list.tables, path_, &DescribedTable::path)->any = any;
  }

  FieldList list;

 private:
  void enter(std::string_view key, const std::string& doc, bool repeated,
             const std::function<void()>& content) {
    const std::string outer = path_;
    path_ = outer.empty() ? std::string(key) : fmt::format("{}.{}", outer, key);
    list.tables.push_back({path_, doc, repeated, {}});
    content();
    path_ = outer;
  }
  std::string path_;
};

}  // namespace

const DescribedField* FieldList::find(std::string_view path) const {
  const auto found = std::ranges::find(fields, path, &DescribedField::path);
  return found == fields.end() ? nullptr : &*found;
}

const FieldList& all_fields() {
  static Scenario defaults;  // the targets point into it
  static const FieldList list = [] {
    Collector collector;
    describe(collector, defaults);
    return collector.list;
  }();
  return list;
}

const FieldList& study_fields() {
  static CompareSpec compare;
  static TuneSpec tune;
  static const FieldList list = [] {
    Collector collector;
    describe_compare(collector, compare);
    describe_tune(collector, tune);
    return collector.list;
  }();
  return list;
}

std::string when_text(const FieldInfo& info) {
  std::string text;
  if (!info.when.empty())
    text = fmt::format(" Only with {} = {}.", info.when_key, fmt::join(info.when, ", "));
  if (!info.need.text.empty()) text += fmt::format(" Only {}.", info.need.text);
  return text;
}

std::string without_numbers(std::string_view path) {
  std::string plain;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.find_first_not_of("0123456789") != std::string_view::npos)
      plain += (plain.empty() ? "" : ".") + std::string(part);
    begin = end + 1;
  }
  return plain;
}

bool overlap(std::string_view one, std::string_view other) {
  const auto within = [](std::string_view field, std::string_view table) {
    return field.starts_with(table) && (field.size() == table.size() || field[table.size()] == '.');
  };
  return within(one, other) || within(other, one);
}

bool is_of_study(std::string_view key) { return overlap(key, "compare") || overlap(key, "tune"); }

}  // namespace psim
