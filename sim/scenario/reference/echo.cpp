// The resolved echo of a scenario.
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/fields/meaningful.hpp"
#include "sim/scenario/fields/toml_text.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/presets.hpp"

namespace psim {
namespace {

// Writes the fields that have a meaning, and their tables.
class Echo final : public MeaningfulFields {
 public:
  std::string text() {
    flush();
    return out_;
  }

 private:
  void on_field(std::string_view key, const FieldTarget& target, const FieldInfo&) override {
    if (const std::optional<std::string> value = toml_text(target))
      body_ += fmt::format("{} = {}\n", key, *value);
  }
  void on_table(bool is_element, const std::function<void()>& fields) override {
    flush();
    header_ = fmt::format(fmt::runtime(is_element ? "[[{}]]\n" : "[{}]\n"), path());
    fields();
    flush();
  }
  void flush() {
    if (!body_.empty()) out_ += (out_.empty() ? "" : "\n") + header_ + body_;
    header_.clear();
    body_.clear();
  }
  std::string out_, header_, body_;
};

}  // namespace

std::string resolved_toml(const Scenario& scenario) {
  Scenario copy = scenario;
  if (scenario.architecture.is_on_one_machine()) copy.cluster.workers = 1;  // as in a file
  Echo echo;
  describe(echo, copy);
  // Without this line the preset's filters would come back.
  const bool no_filters = scenario.filters.empty() && sets(scenario.preset, "filter");
  return (no_filters ? "filter = []\n" : "") + echo.text();
}

}  // namespace psim
