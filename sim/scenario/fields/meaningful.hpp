// A visitor of the fields that have a meaning in a scenario, and of their tables.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "sim/scenario/fields/fields.hpp"

namespace psim {

class MeaningfulFields : public FieldVisitor {
 public:
  void field(std::string_view key, FieldTarget target, FieldInfo info) final {
    if (!has_meaning(info)) return;
    if (const auto* choice = std::get_if<ChoiceField>(&target))
      chosen_[path_of(key)] = choice->choices[choice->get()].name;
    on_field(key, target, info);
  }
  void table(std::string_view key, std::string_view, const std::function<void()>& fields, bool* given) final {
    if (given != nullptr && !*given) return;
    enter(key, false, fields);
  }
  void tables(std::string_view key, std::string_view, std::size_t count,
              const std::function<void(std::size_t)>&, const std::function<void(std::size_t)>& element,
              const FieldInfo& info = {}) final {
    if (!has_meaning(info)) return;
    for (std::size_t i = 0; i < count; ++i) enter(key, true, [&] { element(i); });
  }

 protected:
  virtual void on_field(std::string_view key, const FieldTarget& target, const FieldInfo& info) = 0;
  // A table, or an element of an array of tables. `fields` visits its fields.
  virtual void on_table(bool is_element, const std::function<void()>& fields) = 0;

  const std::string& path() const { return path_; }  // of the table
  std::string path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

 private:
  bool has_meaning(const FieldInfo& info) {
    if (info.need.met && !info.need.met() && !info.need.kept) return false;
    if (info.when.empty()) return true;
    const bool elsewhere = info.when_key.find('.') != std::string_view::npos;
    const std::string choice = elsewhere ? std::string(info.when_key) : path_of(info.when_key);
    return std::ranges::find(info.when, chosen_[choice]) != info.when.end();
  }
  void enter(std::string_view key, bool is_element, const std::function<void()>& fields) {
    const std::string outer = path_;
    path_ = path_of(key);
    on_table(is_element, fields);
    path_ = outer;
  }

  std::string path_;
  std::map<std::string, std::string> chosen_;  // by path; only choices that have a meaning
};

}  // namespace psim
