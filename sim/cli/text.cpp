// A run's summary for people.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/columns.hpp"
#include "sim/cli/command.hpp"

namespace psim::cli {
namespace {

using analysis::ColumnName;

// How a line of the summary begins.
std::string line(ColumnName name) { return fmt::format("\n  {:<10}  ", name.name()); }

std::string bytes_text(double bytes) {
  for (const char* unit : {"B", "kB", "MB", "GB"}) {
    if (bytes < 1000 || std::string_view(unit) == "GB") return fmt::format("{:.4g} {}", bytes, unit);
    bytes /= 1000;
  }
  return {};
}

std::string quality(const Json& evaluation) {
  std::string text = fmt::format("loss {:.4f}", evaluation["loss"].get<double>());
  if (!evaluation["accuracy"].is_null())
    text += fmt::format(", accuracy {:.2f} %", 100 * evaluation["accuracy"].get<double>());
  if (evaluation.contains("auc")) text += fmt::format(", AUC {:.4f}", evaluation["auc"].get<double>());
  return text;
}

std::string inference_text(const Json& s) {
  const std::int64_t answered = s["answered"], requests = s["requests"];
  std::string text = line("inference") + fmt::format("{} of {} requests answered", answered, requests);
  if (answered == 0) return text;
  const Json& latency = s["latency_s"];
  text += fmt::format(", in {:.4g} ms on average, 99 % within {:.4g} ms", 1e3 * latency["mean"].get<double>(),
                      1e3 * latency["p99"].get<double>());
  text += line("served") +
          fmt::format("weights {:.4g} s and {:.2f} updates old on average, at most {:.4g} s and {}",
                      s["age_s"]["mean"].get<double>(), s["staleness"]["mean"].get<double>(),
                      s["age_s"]["max"].get<double>(), s["staleness"]["max"].get<std::int64_t>());
  if (!s["accuracy"].is_null()) text += fmt::format("; accuracy {:.2f} %", 100 * s["accuracy"].get<double>());
  return text + fmt::format("; pulled {}", bytes_text(s["bytes_pulled"].get<double>()));
}

double percent(const Json& of, const char* key) { return 100 * of[key].get<double>(); }

// Only where somebody was away.
std::string absent_text(const Json& of, const char* format_text) {
  const double absent = percent(of, "absent_share");
  return absent > 0 ? fmt::format(fmt::runtime(format_text), absent) : std::string();
}

// Only where a shard's keys do not all have the same clock.
std::string ranges_text(const Json& servers) {
  std::int64_t ranges = 0, splits = 0;
  for (const Json& server : servers) {
    ranges += server["ranges"].get<std::int64_t>();
    splits += server["range_splits"].get<std::int64_t>();
  }
  if (splits == 0) return {};
  return line("ranges") + fmt::format("{} with a vector clock of their own, {} split off", ranges, splits);
}

std::string failures_text(const Json& s) {
  const auto count = [&](const char* key) { return s[key].get<std::int64_t>(); };
  std::string text =
      line("failures") + fmt::format("crashes {}   suspicions {} ({} false)   requests sent again {}",
                                     count("crashes"), count("suspicions"), count("false_suspicions"),
                                     count("repeated_requests"));
  const auto copies = s["replication_bytes"].get<double>(), states = s["state_bytes"].get<double>();
  if (copies + states > 0)
    text += line("copies") + fmt::format("{} of logs, {} of whole shards, {} snapshots", bytes_text(copies),
                                         bytes_text(states), count("snapshots"));
  const auto seconds = [](const Json& span) {
    return span.is_null() ? std::string("-") : fmt::format("{:.4g} s", span.get<double>());
  };
  for (const Json& r : s["recoveries"])
    text += line("recovery") +
            fmt::format("server {} crashed at {:.4g} s: detection {}, takeover {}, transfer {}, catch-up {}",
                        r["server"].get<int>(), r["at_s"].get<double>(), seconds(r["detection_s"]),
                        seconds(r["takeover_s"]), seconds(r["transfer_s"]), seconds(r["catch_up_s"]));
  return text;
}

std::string target_text(const Json& target) {
  if (!target["given"]) return {};
  if (!target["reached"]) return "   target not reached";
  return fmt::format("   target after {:.4g} s", target["sim_time_s"].get<double>());
}

std::string groups_text(const Json& groups) {
  std::size_t width = 5;
  for (const Json& g : groups) width = std::max(width, g["name"].get_ref<const std::string&>().size());
  const auto name = [](ColumnName column) { return column.name(); };
  std::string out = fmt::format("\n\n  {:<{}} {:>9} {:>11} {:>9} {:>9} {:>8} {:>9} {:>11} {:>11} {:>11}   {}",
                                name("group"), width, name("workers"), name("namespace"), name("updates"),
                                name("compute"), name("wait"), name("network"), name("staleness"),
                                name("sent"), ColumnName("ended").heading(), name("final"));
  for (const Json& g : groups) {
    const Json& time = g["time"];
    const auto share = [&](const char* key) { return 100 * time[key].get<double>(); };
    out += fmt::format(
        "\n  {:<{}} {:>9} {:>11} {:>9} {:>7.1f} % {:>6.1f} % {:>7.1f} % {:>11.2f} {:>11} {:>11.4g}   {}{}",
        g["name"].get<std::string>(), width, g["workers"].get<int>(), g["namespace"].get<int>(),
        g["updates"].get<std::int64_t>(), share("compute_share"), share("wait_share"), share("network_share"),
        g["staleness"]["mean"].get<double>(), bytes_text(g["bytes_sent"].get<double>()),
        g["finished_s"].get<double>(), g["final"]["loss"].is_null() ? "-" : quality(g["final"]),
        target_text(g["target"]));
  }
  return out;
}

std::string late_text(const Json& pushes) {
  const auto count = [&](const char* key) { return pushes[key].get<std::int64_t>(); };
  const std::int64_t late = count("dropped") - count("unused_at_end") - count("duplicate") - count("refused");
  if (late == 0) return {};
  return line("late") + fmt::format("{} of {} pushes thrown away", late, count("arrived"));
}

// How far the training got, and what came out.
std::string training_text(const Json& s) {
  std::string out;
  const Json& target = s["target"];
  if (target["given"]) {
    out += line("target");
    if (target.contains("accuracy"))
      out += fmt::format("accuracy {} % ", 100 * target["accuracy"].get<double>());
    if (target.contains("loss")) out += fmt::format("loss {} ", target["loss"].get<double>());
    out += target["reached"]
               ? fmt::format("reached after {:.4g} s and {} updates", target["sim_time_s"].get<double>(),
                             target["updates"].get<std::int64_t>())
               : std::string("not reached");
  }
  const std::string architecture = s["architecture"];
  out += line("simulated") +
         fmt::format("{:.4g} s, {} updates, {} steps of {} workers {}", s["sim_time_s"].get<double>(),
                     s["updates"].get<std::int64_t>(), s["steps"].get<std::int64_t>(), s["workers"].size(),
                     architecture == "parameter-server" ? "under " + s["consistency"].get<std::string>()
                                                        : "by " + architecture);
  if (!s["curve"].empty())
    out += line("quality") + fmt::format("{}  ->  {}", quality(s["initial"]), quality(s["final"]));
  return out;
}

// Of several groups; each has a row in a table below.
std::string groups_line(const Json& s) {
  return line("simulated") + fmt::format("{:.4g} s, {} steps of {} workers in {} groups",
                                         s["sim_time_s"].get<double>(), s["steps"].get<std::int64_t>(),
                                         s["workers"].size(), s["groups"].size());
}

std::string notes_text(const Json& notes) {
  std::string out;
  for (const Json& note : notes)
    out += line("note").substr(out.empty() ? 0 : 1) + note["text"].get<std::string>() + "\n";
  return out;
}

}  // namespace

std::string summary_text(const Json& s, const std::string& replay_line) {
  std::string out = fmt::format(
      "{}    (psim {}, scenario {}, {})\n", replay_line, s["psim"].get<std::string>(),
      s["scenario_hash"].get<std::string>().substr(0, 8), s["instruction_set"].get<std::string>());
  if (const std::string title = s["title"]; !title.empty()) out += title + "\n";
  const bool has_groups = s.contains("groups");
  const std::int64_t updates = s["updates"];
  out += has_groups ? groups_line(s) : training_text(s);
  const Json& share = s["time"];
  out += line("workers") + fmt::format("compute {:.1f} %   wait {:.1f} %   network {:.1f} %",
                                       percent(share, "compute_share"), percent(share, "wait_share"),
                                       percent(share, "network_share"));
  out += absent_text(share, "   absent {:.1f} %");
  out += line("staleness") +
         fmt::format("mean {:.2f}, max {} updates; at most {} clocks ahead of the slowest",
                     s["staleness"]["mean"].get<double>(), s["staleness"]["max"].get<std::int64_t>(),
                     s["clock_gap"]["max"].get<std::int64_t>());
  const double sent = s["bytes_sent"];
  out +=
      line("traffic") + fmt::format("{} messages, {}", s["messages"].get<std::int64_t>(), bytes_text(sent));
  if (updates > 0 && !has_groups) {
    const auto n = static_cast<double>(updates);
    out += fmt::format("; per update {:.1f} messages, {}", s["messages"].get<double>() / n,
                       bytes_text(sent / n));
  }
  out += ranges_text(s["servers"]);
  out += late_text(s["pushes"]);
  if (s.contains("failures")) out += failures_text(s["failures"]);
  if (s.contains("inference")) out += inference_text(s["inference"]);
  if (has_groups) out += groups_text(s["groups"]);

  if (s["workers"].size() <= 16) {
    const bool any_absent = percent(share, "absent_share") > 0;
    out += fmt::format("\n\n  {:>6}   {:>6}   {:>9}   {:>7}   {:>7}   {:>7}", ColumnName("worker").name(),
                       ColumnName("clocks").name(), ColumnName("step").heading(),
                       ColumnName("compute").name(), ColumnName("wait").name(), ColumnName("network").name());
    out += any_absent ? fmt::format("   {:>7}\n", ColumnName("absent").name()) : "\n";
    for (const Json& w : s["workers"]) {
      out += fmt::format("  {:>6}   {:>6}   {:>9.4g}   {:>5.1f} %   {:>5.1f} %   {:>5.1f} %",
                         w["worker"].get<int>(), w["clocks"].get<std::int64_t>(),
                         1e3 * w["mean_step_s"].get<double>(), percent(w, "compute_share"),
                         percent(w, "wait_share"), percent(w, "network_share"));
      out += any_absent ? fmt::format("   {:>5.1f} %\n", percent(w, "absent_share")) : "\n";
    }
  } else {
    out += "\n";
  }
  out += notes_text(s["notes"]);
  out += line("digest") + fmt::format("{}\n", s["digest"].get<std::string>());
  return out;
}

}  // namespace psim::cli
