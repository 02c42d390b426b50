#include "sim/calibrate/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/spec/units.hpp"

namespace psim::calibrate {
namespace {

// A TOML file that grows by fields, in the order of its tables.
class ScenarioText {
 public:
  // `comment` stands behind the value; may be empty. A later value replaces an earlier one.
  void put(const std::string& field, const std::string& value, const std::string& comment = {}) {
    const std::size_t dot = field.rfind('.');
    const std::string table = dot == std::string::npos ? "" : field.substr(0, dot),
                      key = dot == std::string::npos ? field : field.substr(dot + 1);
    auto found = std::ranges::find(tables_, table, &Table::name);
    if (found == tables_.end()) found = tables_.insert(tables_.end(), {table, {}});
    const auto line = std::ranges::find(found->lines, key, &Line::key);
    if (line == found->lines.end()) found->lines.push_back({key, value, comment});
    else *line = {key, value, comment};
  }
  std::string text() const {
    std::string out;
    for (const Table& table : tables_) {
      if (!table.name.empty()) out += fmt::format("\n[{}]\n", table.name);
      for (const Line& line : table.lines) {
        const std::string assignment = fmt::format("{} = {}", line.key, line.value);
        out += line.comment.empty() ? assignment + "\n"
                                    : fmt::format("{:<34}  # {}\n", assignment, line.comment);
      }
    }
    return out;
  }

 private:
  struct Line {
    std::string key, value, comment;
  };
  struct Table {
    std::string name;
    std::vector<Line> lines;
  };
  std::vector<Table> tables_;
};

std::string toml_string(std::string_view text) { return fmt::format("\"{}\"", text); }

template <class Quantity>
std::string quantity(double value) {
  return toml_string(format_quantity(Quantity{value}));
}

}  // namespace

std::string scenario_text(const ScenarioRequest& request) {
  const ClusterFacts& facts = request.facts;
  ScenarioText out;
  const auto comment = [&](std::string_view field) {
    const auto found = std::ranges::find(request.values, field, &Fitted::field);
    if (found == request.values.end()) return std::string();
    if (!found->missing.empty()) return fmt::format("not in the log: {}", found->missing);
    if (!found->interval) return found->how;
    return fmt::format("95 %: {:.4g} to {:.4g} {}; {}", found->interval->low, found->interval->high,
                       found->unit, found->how);
  };
  const auto put = [&](const std::string& field, const std::string& value) {
    out.put(field, value, comment(field));
  };
  if (!request.title.empty()) put("title", toml_string(request.title));
  if (!facts.preset.empty()) put("preset", toml_string(facts.preset));
  put("model.kind", toml_string("phantom"));
  put("model.parameters", fmt::format("{:.0f}", std::max(1.0, facts.model_bytes.value_or(4) / 4)));
  put("training.steps", fmt::to_string(request.steps));
  put("consistency.model", toml_string(facts.consistency.empty() ? "bsp" : facts.consistency));
  put("cluster.workers", fmt::to_string(*facts.workers));
  put("cluster.servers", fmt::to_string(facts.servers.value_or(1)));
  put("cluster.network.bandwidth", quantity<BytesPerSecond>(request.network.bandwidth));
  put("cluster.network.latency", quantity<Seconds>(request.network.latency));
  put("cluster.network.simgrid_model", toml_string("cm02"));
  put("cluster.network.share_turn", quantity<Bytes>(request.network.share_turn));
  put("compute.distribution", toml_string("trace"));
  put("compute.trace", toml_string("steps.csv"));
  put("compute.trace_unit", toml_string("seconds"));
  if (request.from == StepsFrom::blocks) {
    put("compute.trace_resample",
        toml_string(request.fit.block == 1 ? std::string("iid")
                                           : fmt::format("blocks of {} steps", request.fit.block)));
    put("compute.trace_sample", toml_string("draw"));
    put("compute.trace_workers",
        toml_string(static_cast<std::size_t>(*facts.workers) == request.fit.means.size() ? "as they are"
                                                                                         : "draw"));
  }
  for (const std::string& set : facts.sets) {
    const std::size_t equals = set.find('=');
    if (equals != std::string::npos) out.put(set.substr(0, equals), set.substr(equals + 1), "given");
  }
  return out.text();
}

}  // namespace psim::calibrate
