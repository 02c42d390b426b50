#include "sim/scenario/additions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "model/data_source.hpp"
#include "model/model_row.hpp"
#include "model/optimizer.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/spec/distributions.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/presets.hpp"

namespace psim {
namespace {

using Sentences = std::vector<std::string>;

std::vector<std::string> names_of(const auto& row) {
  std::vector<std::string> names{std::string(row.name)};
  std::istringstream aliases{std::string(row.aliases)};
  for (std::string alias; aliases >> alias;) names.push_back(alias);
  return names;
}

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && std::ranges::all_of(name, fits);
}

template <class Row>
void look_at(std::string_view table, Sentences& wrong) {
  std::set<std::string> taken;
  for (const Row& row : all_rows<Row>()) {
    for (const std::string& name : names_of(row)) {
      if (!is_name(name))
        wrong.push_back(
            fmt::format("{} \"{}\": a name may have only small letters, digits, - _ and .", table, name));
      if (!taken.insert(name).second)
        wrong.push_back(fmt::format("{} \"{}\": another row has this name", table, name));
    }
    if constexpr (requires { row.lacks(); }) {
      if (const std::string_view missing = row.lacks(); !missing.empty())
        wrong.push_back(fmt::format("{} \"{}\": the row has no `{}`", table, row.name, missing));
    }
  }
}

// Finds fields of one table with the same key.
class SameKeys final : public FieldVisitor {
 public:
  explicit SameKeys(Sentences& wrong) : wrong_(wrong) {}

  void field(std::string_view key, FieldTarget, FieldInfo) override {
    enter(key, [] {});
  }
  void table(std::string_view key, std::string_view, const std::function<void()>& fields, bool*) override {
    enter(key, fields);
  }
  void tables(std::string_view key, std::string_view, std::size_t,
              const std::function<void(std::size_t)>& resize, const std::function<void(std::size_t)>& element,
              const FieldInfo&) override {
    resize(1);
    enter(key, [&] { element(0); });
  }

 private:
  void enter(std::string_view key, const std::function<void()>& fields) {
    const std::string outer = path_;
    path_ = outer.empty() ? std::string(key) : fmt::format("{}.{}", outer, key);
    if (!seen_.insert(path_).second)
      wrong_.push_back(fmt::format("setting `{}`: another field has this key", path_));
    fields();
    path_ = outer;
  }

  Sentences& wrong_;
  std::string path_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<std::string> wrong_rows() {
  Sentences wrong;
  look_at<ModelRow>("model", wrong);
  look_at<DataSourceRow>("data source", wrong);
  look_at<OptimizerRow>("optimizer", wrong);
  look_at<ConsistencyRow>("consistency model", wrong);
  look_at<AggregationRow>("aggregation", wrong);
  look_at<StalenessWeightRow>("staleness weight", wrong);
  look_at<FilterRow>("filter", wrong);
  look_at<DistributionRow>("distribution", wrong);
  look_at<FaultKindRow>("fault", wrong);
  look_at<PresetTable>("preset", wrong);
  Scenario scenario;
  SameKeys same(wrong);
  describe(same, scenario);
  return wrong;
}

void check_additions() {
  static const Sentences wrong = wrong_rows();
  if (!wrong.empty())
    throw std::logic_error(
        fmt::format("psim cannot use added rows of its tables:\n  {}", fmt::join(wrong, "\n  ")));
}

}  // namespace psim
