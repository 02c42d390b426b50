// The resolved echo of a scenario.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/fields/toml_text.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/presets.hpp"

namespace psim {
namespace {

// Writes the fields that have a meaning, with the tables that have any.
class Echo final : public FieldVisitor {
 public:
  void field(std::string_view key, FieldTarget target, FieldInfo info) override {
    if (!has_meaning(info)) return;
    if (const auto* choice = std::get_if<ChoiceField>(&target))
      chosen_[path_of(key)] = choice->choices[choice->get()].name;
    if (const std::optional<std::string> value = toml_text(target))
      body_ += fmt::format("{} = {}\n", key, *value);
  }
  void table(std::string_view key, std::string_view, const std::function<void()>& fields,
             bool* given) override {
    if (given != nullptr && !*given) return;
    enter(std::string(key), "[{}]\n", fields);
  }
  void tables(std::string_view key, std::string_view, std::size_t count,
              const std::function<void(std::size_t)>&, const std::function<void(std::size_t)>& element,
              const FieldInfo& info = {}) override {
    if (!has_meaning(info)) return;
    for (std::size_t i = 0; i < count; ++i) enter(std::string(key), "[[{}]]\n", [&] { element(i); });
  }
  std::string text() {
    flush();
    return out_;
  }

 private:
  bool has_meaning(const FieldInfo& info) {
    if (info.need.met && !info.need.met() && !info.need.kept) return false;
    if (info.when.empty()) return true;
    const bool elsewhere = info.when_key.find('.') != std::string_view::npos;
    const std::string choice = elsewhere ? std::string(info.when_key) : path_of(info.when_key);
    return std::ranges::find(info.when, chosen_[choice]) != info.when.end();
  }
  void enter(const std::string& key, fmt::string_view brackets, const std::function<void()>& fields) {
    flush();
    const std::string outer = path_;
    path_ = path_of(key);
    header_ = fmt::format(fmt::runtime(brackets), path_);
    fields();
    flush();
    path_ = outer;
  }
  std::string path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }
  void flush() {
    if (!body_.empty()) out_ += (out_.empty() ? "" : "\n") + header_ + body_;
    header_.clear();
    body_.clear();
  }
  std::string out_, header_, body_, path_;
  std::map<std::string, std::string> chosen_;  // by path; only choices that have a meaning
};

}  // namespace

std::string resolved_toml(const Scenario& scenario) {
  Scenario copy = scenario;
  Echo echo;
  describe(echo, copy);
  // A preset's filters come back unless the text says that there are none.
  const bool no_filters = scenario.filters.empty() && sets(scenario.preset, "filter");
  return (no_filters ? "filter = []\n" : "") + echo.text();
}

}  // namespace psim
