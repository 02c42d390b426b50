// A run's summary as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "analysis/render/svg_chart.hpp"
#include "analysis/word_docs.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/runs/answer.hpp"
#include "sim/scenario/spec/memory.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

using analysis::ColumnName;

// The beginning of a line of the summary.
std::string line(ColumnName name) { return fmt::format("\n  {:<10}  ", name.name()); }

std::int64_t number_of(const Json& list) { return static_cast<std::int64_t>(list.size()); }

// A value in this form: an optional format of fmt and an optional unit; "-" for null. The unit " #update"
// gives "1 update" or "2 updates".
std::string shown(const Json& value, std::string_view form) {
  if (value.is_null()) return "-";
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return "NaN";
  const std::size_t gap = std::min(form.find(' '), form.size());
  const std::string format = fmt::format("{{:{}}}", form.substr(0, gap)), unit(form.substr(gap));
  const auto in_format = [&format](const auto& what) { return fmt::format(fmt::runtime(format), what); };
  if (value.is_string()) return in_format(value.get<std::string>());
  if (unit.empty() && value.is_number_integer()) return in_format(value.get<std::int64_t>());
  if (unit.starts_with(" #")) return in_format(counted(value.get<std::int64_t>(), unit.substr(2)));
  if (unit == " bytes") return in_format(size_text(value, 4));
  const double scale = unit == " %" ? 100 : unit == " ms" ? 1e3 : 1;
  return in_format(scale * value.get<double>()) + unit;
}

// `text` with values of `json`: each "{PATH:FORM}" becomes the value at this path, in this form.
std::string fill(const Json& json, std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t open = std::min(text.find('{'), text.size());
    out += text.substr(0, open);
    if (open == text.size()) return out;
    const std::size_t close = text.find('}', open);
    const std::string_view field = text.substr(open + 1, close - open - 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    out += shown(json.at(Json::json_pointer(fmt::format("/{}", field.substr(0, colon)))),
                 field.substr(std::min(colon + 1, field.size())));
    text.remove_prefix(close + 1);
  }
}

std::string line(ColumnName name, const Json& json, std::string_view text) {
  return line(name) + fill(json, text);
}

std::string quality(const Json& evaluation) {
  std::string text = fill(evaluation, "loss {loss:.4f}");
  if (!evaluation["accuracy"].is_null()) text += fill(evaluation, ", accuracy {accuracy:.2f %}");
  if (evaluation.contains("auc")) text += fill(evaluation, ", AUC {auc:.4f}");
  return text;
}

std::string inference_text(const Json& s) {
  std::string text = line("inference", s, "{answered} of {requests: #request} answered");
  if (s["answered"] == 0) return text;
  text += fill(s, ", in {latency_s/mean:.4g ms} on average, 99 % within {latency_s/p99:.4g ms}");
  text += line("served", s,
               "weights {age_s/mean:.4g s} and {staleness/mean:.2f} updates old on average, at most "
               "{age_s/max:.4g s} and {staleness/max}");
  if (!s["accuracy"].is_null()) text += fill(s, "; accuracy {accuracy:.2f %}");
  return text + fill(s, "; pulled {bytes_pulled: bytes}");
}

// Empty if all keys of a shard have the same clock.
std::string ranges_text(const Json& servers) {
  std::int64_t ranges = 0, splits = 0;
  for (const Json& server : servers) {
    ranges += server["ranges"].get<std::int64_t>();
    splits += server["range_splits"].get<std::int64_t>();
  }
  if (splits == 0) return {};
  return line("ranges") + fmt::format("{} with their own vector clock, {} split off", ranges, splits);
}

// A line for each, but at most as many as fit on a screen.
template <class LineOf>
std::string some_lines(const Json& all, ColumnName name, LineOf line_of) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) text += line_of(all[i]);
  if (all.size() > most)
    text += line(name) + fmt::format("... and {} more, in summary.json", all.size() - most);
  return text;
}

std::string recovery_text(const Json& one) {
  return one.contains("worker")
             ? line("recovery", one,
                    "worker {worker} crashed at {at_s:.4g s}: detection {detection_s:.4g s}, re-forming "
                    "{reforming_s:.4g s}, lost work {lost_work_s:.4g s}")
             : line("recovery", one,
                    "server {server} crashed at {at_s:.4g s}: detection {detection_s:.4g s}, takeover "
                    "{takeover_s:.4g s}, transfer {transfer_s:.4g s}, catch-up {catch_up_s:.4g s}");
}

std::string move_text(const Json& one) {
  const auto loads = [&one](const char* when) {
    std::vector<std::string> all;
    for (const Json& server : one["servers"])
      all.push_back(fmt::format("{:.3g}", server[when].get<double>()));
    return fmt::format("{}", fmt::join(all, " "));
  };
  return line("moved", one, "{shards: #shard} with {parameters: #parameter} at {at_s:.4g s}, {cuts} cut") +
         line("load") +
         fmt::format("values/s by server: {} before the move, {} after it", loads("load_before_per_s"),
                     loads("load_after_per_s"));
}

std::string failures_text(const Json& s) {
  std::string text = line("failures", s,
                          "crashes {crashes}   suspicions {suspicions} ({false_suspicions} false)   requests "
                          "sent again {repeated_requests}");
  if (s["replication_bytes"] != 0 || s["state_bytes"] != 0)
    text += line(
        "copies", s,
        "{replication_bytes: bytes} of logs, {state_bytes: bytes} of whole shards, {snapshots} snapshots");
  return text + some_lines(s["recoveries"], "recovery", recovery_text) +
         some_lines(s.value("rebalances", Json::array()), "moved", move_text);
}

std::string slow_text(const Json& slow) {
  const bool replaces = std::ranges::any_of(slow, [](const Json& one) { return one["action"] == "replace"; });
  const auto line_of = [replaces](const Json& one) {
    const std::string action = one["action"];
    return line("slow", one,
                "worker {worker} found at {at_s:.4g s}: {seconds_per_sample:.3g} s a sample in the window, "
                "median of the others {median:.3g} s") +
           (action == "remove"    ? "; asked to leave"
            : action == "replace" ? "; replaced"
            : replaces            ? "; no spare worker is left, so it stays"
                                  : "");
  };
  return slow.empty() ? line("slow") + "no slow worker found" : some_lines(slow, "slow", line_of);
}

std::string startup_text(const Json& startup) {
  std::string text;
  for (const auto& [key, role] : {std::pair{"workers_s", "workers"}, {"servers_s", "servers"}}) {
    double last = 0;
    for (const Json& one : startup[key]) last = std::max(last, one.get<double>());
    if (last > 0) text += fmt::format("{}{} up after at most {:.4g} s", text.empty() ? "" : ", ", role, last);
  }
  return text.empty() ? text : line("start-up") + text;
}

std::string economy_text(const Json& e) {
  std::string text = line("cost", e, "{joules:.4g} J, {dollars:.4g} $");
  if (!e["to_target"].is_null())
    text += fill(e, "; to the target {to_target/joules:.4g} J, {to_target/dollars:.4g} $");
  return text;
}

std::string when_reached(const Json& group) {
  const Json& target = group["target"];
  if (!target["given"]) return {};
  return (target["reached"] ? fill(target, "   target after {sim_time_s:.4g s}") : "   target not reached") +
         where_judged(group);
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
    out += fmt::format("\n  {:<{}}", g["name"].get<std::string>(), width);
    out += fill(
        g,
        " {workers:>9} {namespace:>11} {updates:>9} {time/compute_share:>7.1f %} {time/wait_share:>6.1f %} "
        "{time/network_share:>7.1f %} {staleness/mean:>11.2f} {bytes_sent:>11 bytes} {finished_s:>11.4g}   ");
    out += (g["final"]["loss"].is_null() ? "-" : quality(g["final"])) + when_reached(g);
  }
  return out;
}

std::string late_text(const Json& pushes) {
  const auto count = [&](const char* key) { return pushes[key].get<std::int64_t>(); };
  const std::int64_t late = count("dropped") - count("unused_at_end") - count("duplicate") - count("refused");
  if (late == 0) return {};
  return line("late") +
         fmt::format("servers dropped {} of {} as too late", late, counted(count("arrived"), "push")) +
         (count("torn") == 0
              ? ""
              : fmt::format(
                    "; {} applied on some shards only",
                    count("torn") == 1 ? "1 gradient was" : fmt::format("{} gradients were", count("torn"))));
}

std::string quality_text(const Json& s) {
  const std::string where = where_judged(s);
  if (where.empty()) return fmt::format("{}  ->  {}", quality(s["initial"]), quality(s["final"]));
  std::string text =
      fmt::format("{}  ->  {}{}", quality(s["initial"]), quality(s["final_validation"]), where);
  if (s["evaluated_on"]["final"] == "test") text += line("test") + quality(s["final"]);
  return text;
}

// "half of the pushes at most 3, 90 % at most 7", from a rising histogram of pairs [staleness, pushes].
std::string shares_text(const Json& histogram, double pushes) {
  const auto at_most = [&](double share) {
    double sum = 0;
    for (const Json& pair : histogram) {
      sum += pair[1].get<double>();
      if (sum >= share * pushes) return pair[0].get<std::int64_t>();
    }
    return std::int64_t{0};
  };
  return fmt::format(" (half of the pushes at most {}, 90 % at most {})", at_most(0.5), at_most(0.9));
}

std::string staleness_text(const Json& s) {
  std::string text = line("staleness", s, "mean {staleness/mean:.2f}, max {staleness/max: #update}");
  const Json histogram = s["staleness"].value("histogram", Json::array());  // older runs lack it
  if (histogram.size() > 1) text += shares_text(histogram, s["pushes"]["applied"]);
  return text + fill(s, "; at most {clock_gap/max} ") + (s["clock_gap"]["max"] == 1 ? "clock" : "clocks") +
         " ahead of the slowest";
}

// Whether a clock has several local steps.
bool has_local_steps(const Json& s) { return s.contains("local_steps") || s.contains("local_time_s"); }

std::string steps_text(const Json& s) {
  if (!has_local_steps(s)) return fill(s, "{steps: #step}");
  return fill(s, "{steps: #clock}") +
         (s.contains("local_steps") ? fill(s, " (each {local_steps: #local step})") : "");
}

// The progress of the training, and its results.
std::string training_text(const Json& s) {
  std::string out;
  const Json& target = s["target"];
  if (target["given"]) {
    out += line("target") + target_text(s);
    out += fill(target, target["reached"] ? " reached after {sim_time_s:.4g s} and {updates: #update}"
                                          : " not reached");
    if (target.value("last_miss_s", Json()).is_number())
      out += fill(target, ", not yet at {last_miss_s:.4g s} (the evaluation before)");
  }
  const std::string architecture = s["architecture"];
  out += line("simulated", s, "{sim_time_s:.4g s}, {updates: #update}, ") + steps_text(s) +
         fmt::format(" of {} {}", counted(number_of(s["workers"]), "worker"),
                     architecture == "parameter-server" ? "under " + s["consistency"].get<std::string>()
                                                        : "by " + architecture);
  if (!s["curve"].empty()) out += line("quality") + quality_text(s);
  return out;
}

// The line for several groups. Each group also has a row in a table below.
std::string groups_line(const Json& s) {
  return line("simulated", s, "{sim_time_s:.4g s}, ") + steps_text(s) +
         fmt::format(" of {} in {}", counted(number_of(s["workers"]), "worker"),
                     counted(number_of(s["groups"]), "group"));
}

std::string workers_text(const Json& s, bool any_absent) {
  const Json& workers = s["workers"];
  if (workers.size() > 16) return "\n";
  const auto name = [](ColumnName column) { return column.name(); };
  const std::string pace = (has_local_steps(s) ? ColumnName("per clock") : ColumnName("step")).heading();
  std::string out = fmt::format("\n\n  {:>6}   {:>6}   {}   {:>7}   {:>7}   {:>7}", name("worker"),
                                name("clocks"), pace, name("compute"), name("wait"), name("network"));
  const bool any_cancelled = std::ranges::any_of(workers, [](const Json& w) { return w["cancelled"] > 0; });
  if (any_absent) out += fmt::format("   {:>7}", name("absent"));
  if (any_cancelled) out += fmt::format("   {:>9}", name("cancelled"));
  for (const Json& w : workers) {
    const double ms = 1e3 * w["mean_step_s"].get<double>();
    out += fill(w, "\n  {worker:>6}   {clocks:>6}   ") +
           (ms < 9999.5 ? fmt::format("{:>{}.4g}", ms, pace.size())
                        : fmt::format("{:>{}.0f}", ms, pace.size())) +
           fill(w, "   {compute_share:>5.1f %}   {wait_share:>5.1f %}   {network_share:>5.1f %}");
    if (any_absent) out += fill(w, "   {absent_share:>5.1f %}");
    if (any_cancelled) out += fill(w, "   {cancelled:>9}");
  }
  return out + "\n";
}

std::string notes_text(const Json& notes) {
  std::string out;
  for (const Json& note : notes)
    out += line("note").substr(out.empty() ? 0 : 1) + note["text"].get<std::string>() + "\n";
  return out;
}

}  // namespace

std::string where_judged(const Json& training) {
  const Json on = training.value("evaluated_on", Json());  // older runs lack it
  return on.is_object() && on.value("curve", Json()) == "validation" ? " on the validation set" : "";
}

std::string target_text(const Json& summary) {
  const Json& target = summary["target"];
  std::string text;
  if (target.contains("accuracy")) text = fill(target, "accuracy {accuracy: %}");
  if (target.contains("loss")) text += fill(target, text.empty() ? "loss {loss}" : " loss {loss}");
  return text.empty() ? text : text + where_judged(summary);
}

std::string summary_text(const Json& s, const std::string& replay_line) {
  std::string out = replay_line + fill(s, "    (psim {psim}, scenario {scenario_hash:.8}, {cpu_family})\n");
  if (s["title"] != "") out += fill(s, "{title}\n");
  const bool has_groups = s.contains("groups"), any_absent = s["time"]["absent_share"] > 0;
  out += has_groups ? groups_line(s) : training_text(s);
  out += line("workers", s["time"],
              "compute {compute_share:.1f %}   wait {wait_share:.1f %}   network {network_share:.1f %}");
  if (any_absent) out += fill(s["time"], "   absent {absent_share:.1f %}");
  out += staleness_text(s);
  out += line("traffic", s, "{messages: #message}, {bytes_sent: bytes}");
  if (const double updates = s["updates"]; updates > 0 && !has_groups)
    out += fmt::format("; per update {:.1f} messages, {}", s["messages"].get<double>() / updates,
                       size_text(s["bytes_sent"].get<double>() / updates, 4));
  out += ranges_text(s["servers"]) + late_text(s["pushes"]);
  if (s.contains("failures")) out += failures_text(s["failures"]);
  if (s.contains("slow_workers")) out += slow_text(s["slow_workers"]);
  if (s.contains("startup")) out += startup_text(s["startup"]);
  if (s.contains("aggregation"))
    out += line("sums", s["aggregation"],
                "{push_bytes: bytes} of pushes became {sum_bytes: bytes} on their way to servers, "
                "{answer_bytes: bytes} of answers {copied_bytes: bytes} on their way to racks");
  if (s.contains("economy")) out += economy_text(s["economy"]);
  if (s.contains("inference")) out += inference_text(s["inference"]);
  if (has_groups) out += groups_text(s["groups"]);
  out += workers_text(s, any_absent);
  out += notes_text(s["notes"]);
  return out + line("digest", s, "{digest}\n");
}

namespace {

struct Ending {
  std::string text;  // of at most 40 columns
  std::string_view code;
};

Ending ending(const Json& s) {
  if (!s["stuck"].empty()) return {fill(s, "stuck at {sim_time_s:.4g s}"), red};
  const bool is_missed = misses_target(s);
  if (is_missed && s.contains("groups")) return {fill(s, "target missed in {sim_time_s:.4g s}"), red};
  if (s.contains("groups"))
    return {fill(s, "{sim_time_s:.4g s}, ") + counted(number_of(s["groups"]), "group"), bold};
  if (s["target"]["reached"]) return {fill(s["target"], "target reached in {sim_time_s:.4g s}"), green};
  const bool shows_loss = s["final"]["accuracy"].is_null() || s["target"].value("loss", Json()).is_number();
  const std::string_view result = s["curve"].empty() ? ", {messages: #message}"
                                  : shows_loss       ? ", loss {final/loss:.4g}"
                                                     : ", accuracy {final/accuracy:.2f %}";
  return {(is_missed ? "target missed" : fill(s, "{sim_time_s:.4g s}")) + fill(s, result),
          is_missed ? red : bold};
}

}  // namespace

std::string one_line(const Json& s, int width) {
  constexpr int least = 5, most = 20;  // cells of the bar
  constexpr std::pair<Use, std::string_view> blocks[] = {
      {Use::compute, "█"}, {Use::wait, "░"}, {Use::network, "▒"}};
  const auto& [text, code] = ending(s);
  const auto share = [&s](Use use) { return s["time"][fmt::format("{}_share", name_of(use))].get<double>(); };
  const auto words = [&](Use use) { return fmt::format("{} {:.0f} %", name_of(use), 100 * share(use)); };
  std::size_t length = text.size();
  for (const auto& [use, block] : blocks) length += words(use).size() + 2;
  const int room = std::min(most, width - static_cast<int>(length) - 3);
  const int cells = room < least ? 0 : room;
  std::string bar, shares;
  double sum = 0;
  int drawn = 0;
  for (const auto& [use, block] : blocks) {
    sum += share(use);
    std::string piece;
    for (; drawn < std::lround(sum * cells); ++drawn) piece += block;
    bar += painted(piece, analysis::terminal_colour(use));
    shares += (shares.empty() ? "" : ", ") + painted(words(use), analysis::terminal_colour(use));
  }
  bar.append(static_cast<std::size_t>(cells - drawn), ' ');  // absent
  if (static_cast<int>(length) > width) return painted(text, code);
  return painted(text, code) + (cells == 0 ? "  " : fmt::format("  [{}] ", bar)) + shares;
}

}  // namespace psim::cli
