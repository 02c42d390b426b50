#include "sim/calibrate/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/base/user_error.hpp"
#include "model/data/text.hpp"
#include "sim/runs/request.hpp"
#include "sim/scenario/assignment.hpp"
#include "sim/scenario/spec/units.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::calibrate {
namespace {

template <class Quantity>
std::string quantity(double value) {
  return toml_string(format_quantity(Quantity{value}));
}

// The comment beside a fitted field: the origin of its value.
std::string origin(const std::vector<Fitted>& values, std::string_view field) {
  const auto found = std::ranges::find(values, field, &Fitted::field);
  if (found == values.end()) return "";
  if (!found->missing.empty()) return fmt::format("not in the log: {}", found->missing);
  if (!found->interval) return found->how;
  return fmt::format("95 %: {:.4g} to {:.4g}{}{}; {}", found->interval->low, found->interval->high,
                     found->unit.empty() ? "" : " ", found->unit, found->how);
}

// The standard deviation of the logarithm of a fitted value; 0: it has no interval.
double deviation(const std::vector<Fitted>& values, std::string_view field) {
  const auto found = std::ranges::find(values, field, &Fitted::field);
  if (found == values.end() || !found->interval || !(found->interval->low > 0)) return 0;
  return std::log(found->interval->high / found->interval->low) / (2 * 1.96);
}

void put_network(TomlText& out, const NetworkValues& network, const std::vector<Fitted>& values) {
  const auto put = [&](const std::string& field, const std::string& value) {
    out.put(field, value, origin(values, field));
  };
  put("cluster.network.bandwidth", quantity<BytesPerSecond>(network.bandwidth));
  if (const double sd = deviation(values, "cluster.network.bandwidth"); std::isfinite(sd) && sd > 0)
    out.put("cluster.network.bandwidth_sd", fmt::format("{:.3g}", std::min(sd, 1.0)),
            "of the bandwidth's logarithm: each seed draws a bandwidth of its interval");
  put("cluster.network.latency", quantity<Seconds>(network.latency));
  put("cluster.network.simgrid_model", toml_string("cm02"));
  put("cluster.network.cross_traffic", "true");
  put("cluster.network.share_turn", quantity<Bytes>(network.share_turn));
  put("cluster.network.share_cv", shortest(network.share_cv));
  put("cluster.network.share_queue", shortest(network.share_queue));
  out.put("cluster.network.share_start", toml_string("128KiB"), "of Linux");
  if (network.receive_overhead > 0)
    put("cluster.network.endpoint.receive_overhead", quantity<Seconds>(network.receive_overhead));
  if (network.server_time > 0) {
    put("cluster.server.speed", quantity<FlopsPerSecond>(server_speed));
    put(server_work_field, shortest(network.server_time * server_speed));
  }
}

// The fields with which every scenario of a cluster begins.
TomlText beginning(const ClusterFacts& facts, const std::string& title) {
  TomlText out;
  if (!title.empty()) out.put("title", toml_string(title));
  if (!facts.preset.empty()) out.put("preset", toml_string(facts.preset), "--preset");
  out.put("model.kind", toml_string("phantom"));
  out.put("model.parameters", fmt::format("{:.0f}", std::max(1.0, facts.model_bytes.value_or(4) / 4)),
          "--model-bytes, or the bytes of the log");
  return out;
}

// The architecture and the consistency model. An all-reduce has no servers and no consistency model.
void put_consistency(TomlText& out, const ClusterFacts& facts) {
  if (facts.consistency == all_reduce) {
    out.put("architecture.kind", toml_string(all_reduce), "--consistency");
  } else if (!facts.gives("architecture")) {
    out.put("consistency", toml_string(facts.consistency.empty() ? "bsp" : facts.consistency),
            "--consistency");
    out.put("cluster.servers", fmt::to_string(facts.servers.value_or(1)), "--servers");
  }
}

// The fields that the user gives.
void put_given(TomlText& out, const ClusterFacts& facts) {
  for (const std::string& set : facts.sets) {
    const std::optional<Override> one = override_of(set);
    if (!one)
      throw UserError(fmt::format("--set {}: no field and value", set), "for example --set KEY=VALUE");
    out.put(one->key, as_toml(one->value), "--set");
  }
}

std::string unquoted(std::string_view value) {
  value = trim(value);
  return std::string(value.size() > 1 && value.starts_with('"') ? value.substr(1, value.size() - 2) : value);
}

// The number of a value of --set, in a unit that may be empty. Throws UserError.
double given_value(const Override& given, const std::string& unit) {
  const std::string text = unquoted(given.value);
  const std::optional<double> value = unit == "B/s" ? parse_quantity(text, Unit<BytesPerSecond>::names)
                                      : unit == "s" ? parse_quantity(text, Unit<Seconds>::names)
                                      : unit == "B" ? parse_quantity(text, Unit<Bytes>::names)
                                                    : number_in<double>(text);
  if (!value)
    throw UserError(fmt::format("--set {}={}: no number with a unit", given.key, given.value),
                    "psim explain " + given.key);
  return *value;
}

}  // namespace

std::optional<std::string> ClusterFacts::set_value(std::string_view field) const {
  std::optional<std::string> value;
  for (const std::string& set : sets) {
    if (const std::optional<Override> one = override_of(set); one && one->key == field)
      value = unquoted(one->value);
  }
  return value;
}

bool ClusterFacts::gives(std::string_view begin) const {
  return std::ranges::any_of(sets, [&](const std::string& set) {
    const std::optional<Override> one = override_of(set);
    return one && one->key.starts_with(begin);
  });
}

bool ClusterFacts::is_synchronous() const {
  if (gives("architecture")) return true;  // servers are the usual one
  std::string model = consistency.empty() ? "bsp" : consistency;
  for (const char* field : {"consistency", "consistency.model"}) model = set_value(field).value_or(model);
  return model == "bsp" || model == all_reduce;
}

void take_given(const ClusterFacts& facts, std::vector<Fitted>& fitted) {
  for (const std::string& set : facts.sets) {
    const std::optional<Override> one = override_of(set);
    const auto found = std::ranges::find(fitted, one ? one->key : "", &Fitted::field);
    if (found == fitted.end()) continue;
    found->value = given_value(*one, found->unit);
    found->interval.reset();
    found->missing.clear();
    found->how = "given";
    found->is_given = true;
  }
}

std::string scenario_text(const ScenarioRequest& request) {
  const ClusterFacts& facts = request.facts;
  TomlText out = beginning(facts, request.title);
  out.put("training.steps", fmt::to_string(request.steps));
  put_consistency(out, facts);
  out.put("cluster.workers", fmt::to_string(*facts.workers), "--workers, or those of the log");
  put_network(out, request.network, request.values);
  out.put("compute.distribution", toml_string("trace"));
  out.put("compute.trace", toml_string("steps.csv"));
  out.put("compute.trace_unit", toml_string("seconds"));
  if (request.from == StepsFrom::blocks) {
    out.put("compute.trace_resample",
            toml_string(request.fit.block == 1 ? std::string("iid")
                                               : fmt::format("blocks of {} steps", request.fit.block)));
    out.put("compute.trace_sample", toml_string("draw"));
    out.put("compute.trace_workers",
            toml_string(request.fit.in_step ||
                                static_cast<std::size_t>(*facts.workers) == request.fit.means.size()
                            ? "as they are"
                            : "draw"));
  }
  put_given(out, facts);
  if (request.values.empty())
    out.put("training.steps", fmt::to_string(request.steps));  // a trial's, as logged
  return out.text();
}

std::string run_text(const ClusterFacts& facts, const NetworkValues& network, const LoggedRun& run,
                     const std::vector<Fitted>& values, const std::string& title) {
  TomlText out = beginning(facts, title);
  if (run.consistency() == nullptr && !facts.consistency.empty())
    out.put("consistency", toml_string(facts.consistency), "--consistency");
  if (facts.servers) out.put("cluster.servers", fmt::to_string(*facts.servers), "--servers");
  out.put("training.steps", "20");
  put_network(out, network, values);
  for (const auto& [field, value] : run.fields) out.put(field, as_toml(value), "a column of the runs");
  put_given(out, facts);
  return out.text();
}

}  // namespace psim::calibrate
