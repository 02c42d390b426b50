#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/page/page.hpp"
#include "analysis/page/run_parts.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

// The few numbers with which a page describes a run.

namespace {

constexpr double mostly_right = 0.9;

// The date when the accuracy first reached `mostly_right`; null: never.
Json time_until_right(const Json& summary) {
  for (const Json& point : summary["curve"]) {
    const Json accuracy = point.value("accuracy", Json());
    if (accuracy.is_number() && accuracy.get<double>() >= mostly_right) return point["sim_time_s"];
  }
  return nullptr;
}

struct FactKind {
  const char* name;
  std::optional<SummaryPath> path;  // none: the milestone with this name
  Shape shape;
  const char* doc;
};
constexpr const char *to_target = "time to the target", *to_most = "time to 90 % accuracy";
constexpr std::array<FactKind, 13> told_facts{{
    {to_target, {}, as_seconds, "simulated time until the run reaches its target"},
    {to_most, {}, as_seconds, "simulated time until the accuracy first reaches 90 %"},
    {"length of the run", "/sim_time_s"_summary, as_seconds,
     "simulated time until the last worker has finished"},
    {"updates", "/updates"_summary, {.decimals = 0}, "versions of the weights"},
    {"samples a second", "/samples_per_s"_summary, {.decimals = 0}, "samples that the cluster learned from"},
    {"accuracy at the end",
     "/final/accuracy"_summary,
     {.scale = 100, .decimals = 1, .unit = " %"},
     "on samples outside the training set"},
    {"loss at the end", "/final/loss"_summary, {}, "over the same samples"},
    {"workers compute", "/time/compute_share"_summary, as_percent, "share of all workers' time"},
    {"workers wait", "/time/wait_share"_summary, as_percent,
     "share of all workers' time in which they wait for others"},
    {"network", "/time/network_share"_summary, as_percent,
     "share of all workers' time with only messages on their way"},
    {"staleness", "/staleness/mean"_summary, {}, "mean age of a gradient when it is applied, in updates"},
    {"largest lead", "/clock_gap/max"_summary, {.decimals = 0, .unit = " clocks"}, "over the slowest worker"},
    {"sent", "/bytes_sent"_summary, as_megabytes, "by all nodes"},
}};

}  // namespace

Milestone milestone_of(const Json& summary) {
  if (summary["target"].value("given", false)) return {to_target, summary["target"]["sim_time_s"]};
  const auto is_judged = [](const Json& point) { return point.value("accuracy", Json()).is_number(); };
  if (std::ranges::none_of(summary["curve"], is_judged)) return {};
  return {to_most, time_until_right(summary)};
}

std::vector<FieldDoc> fact_docs() {
  std::vector<FieldDoc> docs;
  for (const FactKind& kind : told_facts) docs.push_back({kind.name, "the facts of a page", kind.doc});
  return docs;
}

Json facts_of(const std::vector<const Json*>& summaries) {
  Json facts = Json::array();
  const std::string milestone = summaries.empty() ? "" : milestone_of(*summaries.front()).name;
  for (const FactKind& kind : told_facts) {
    if (!kind.path && kind.name != milestone) continue;
    double sum = 0;
    bool all = !summaries.empty();
    for (const Json* summary : summaries) {
      const Json value = kind.path ? value_at(*summary, *kind.path) : milestone_of(*summary).at_s;
      all = all && value.is_number();
      if (value.is_number()) sum += value.get<double>();
    }
    const Json mean = all ? Json(sum / static_cast<double>(summaries.size())) : Json();
    facts.push_back(
        {{"name", kind.name}, {"value", mean}, {"text", shown(mean, kind.shape)}, {"doc", kind.doc}});
  }
  return facts;
}

Json curve_of(const Json& summary, const char* what, double scale) {
  Json x = Json::array(), mean = Json::array();
  for (const Json& point : summary["curve"]) {
    const Json value = point.value(what, Json());
    if (!value.is_number()) continue;
    x.push_back(point["sim_time_s"]);
    mean.push_back(value.get<double>() * scale);
  }
  return {{"x", std::move(x)}, {"mean", std::move(mean)}, {"low", Json::array()}, {"high", Json::array()}};
}

namespace {

// "stragglers under bsp, seed 1": distinguishes the run from other runs of its scenario.
std::string name_of_run(const Json& summary) {
  const bool is_ps = summary["architecture"] == "parameter-server";
  return fmt::format("{} {} {}, seed {}", summary["scenario"].get<std::string>(), is_ps ? "under" : "by",
                     summary[is_ps ? "consistency" : "architecture"].get<std::string>(),
                     summary["seed"].dump());
}

std::string header(const RunView& view) {
  const Json& s = view.page.summary;
  const std::string title = s["title"].get<std::string>();
  return fmt::format("<header><p class=\"kind\">A run by psim {}</p><h1>{}</h1>{}{}</header>",
                     view.numbers("/psim"_summary), escaped(name_of_run(s)),
                     title.empty() ? "" : fmt::format("<p class=\"question\">{}</p>", escaped(title)),
                     view.page.target.empty()
                         ? ""
                         : fmt::format("<p class=\"kind\">Target: {}</p>", escaped(view.page.target)));
}

std::string no_events(const RunView& view) {
  return fmt::format(
      "<p>This run was recorded without its events, so it has no time line. This command makes the run again "
      "with its events:</p><pre class=\"command\">{}</pre>",
      escaped(view.page.with_events));
}

// The legend of the time line: only the uses that occur.
std::string lane_keys(const Timeline& timeline) {
  constexpr std::array<std::pair<Use, const char*>, 5> names{{{Use::compute, "computing"},
                                                              {Use::network, "on the network"},
                                                              {Use::wait, "waiting"},
                                                              {Use::service, "a server at work"},
                                                              {Use::down, "down"}}};
  std::vector<std::string> keys;
  for (const auto& [use, name] : names) {
    const bool occurs = std::ranges::any_of(timeline.lanes, [use](const Lane& lane) {
      return std::ranges::find(lane.spans, use, &Span::use) != lane.spans.end();
    });
    if (occurs) keys.push_back(fmt::format("<span class=\"key {}\"></span> {}", name_of(use), name));
  }
  const bool has_letters = std::ranges::any_of(timeline.lanes, [](const Lane& lane) {
    return std::ranges::any_of(lane.marks,
                               [](const Mark& mark) { return mark.kind != "update" && mark.kind != "done"; });
  });
  return fmt::format("{}. The line below a row is the critical path{}{}.", fmt::join(keys, ", "),
                     timeline.shades.empty() ? "" : "; red: slow or failed",
                     has_letters ? "; letters: the first letters of the events in this list" : "");
}

std::string made(const RunView& view) {
  const RunPage& page = view.page;
  std::string notes;
  for (const Json& note : page.summary["notes"])
    notes += fmt::format("<p>Note: {}</p>", escaped(note["text"].get<std::string>()));
  for (const Json& stuck : page.summary["stuck"])
    notes +=
        fmt::format("<p>Stuck: {}</p>", escaped(stuck.is_string() ? stuck.get<std::string>() : stuck.dump()));
  return notes +
         fmt::format(
             "<p>Its digest is <code>{}</code>: every run with this digest is the same run, event by event. "
             "This command makes it again, in the run's folder:</p><pre "
             "class=\"command\">{}</pre><details><summary>The "
             "scenario, with every default</summary><pre>{}</pre></details><p class=\"kind\">psim "
             "{}, {}, build {}. Numbers are those of <code>summary.json</code>; "
             "point at one to see all its digits.</p>",
             view.numbers("/digest"_summary), escaped(page.command), escaped(page.scenario),
             view.numbers("/psim"_summary), view.numbers("/cpu_family"_summary),
             view.numbers("/build"_summary));
}

}  // namespace

std::string waiting_heading(const RunView& view) {
  const std::string share = view.numbers("/time/wait_share"_summary, as_percent);
  const WaitedFor waits = waits_of(view.page.why);
  constexpr double nearly_all = 0.9, most = 0.5;
  const double part = waits.total > 0 ? waits.for_most / waits.total : 0;  // messages included
  constexpr double hardly = 0.02;
  const Json& waited = view.numbers.at("/time/wait_share"_summary);
  if (part < most || !waited.is_number() || waited.get<double>() < hardly)
    return fmt::format("Workers waited {} of their time", share);
  return fmt::format("Workers waited {} of their time; {} held them up {}, messages included", share,
                     escaped(waits.most_awaited), part > nearly_all ? "nearly always" : "most");
}

// "Server 1 crashed at 2 s; 3.5 s later training was back where it had been." Empty without a fault.
std::string fault_sentence(const RunView& view) {
  const Json& s = view.page.summary;
  const Numbers& n = view.numbers;
  const Json recoveries = s.contains("failures") ? s["failures"]["recoveries"] : Json::array();
  if (!recoveries.empty()) {
    const bool is_worker = recoveries[0].contains("worker");
    const std::string first = "/failures/recoveries/0"_summary;
    const std::string who =
        fmt::format("{} {} crashed at {}", is_worker ? "Worker" : "Server",
                    n(first + (is_worker ? "/worker" : "/server")), n(first + "/at_s", as_seconds));
    return recoveries[0]["total_s"].is_number()
               ? fmt::format("{}; {} later training was back where it had been.", who,
                             n(first + "/total_s", as_seconds))
               : fmt::format("{}; the run ended before training was back where it had been.", who);
  }
  const auto fault = view.page.timeline == nullptr ? std::nullopt : first_fault(*view.page.timeline);
  if (!fault) return "";
  return escaped(
      fmt::format("The first fault, {} of {}, came at {:.4g} s.", fault->what, fault->node, fault->at));
}

std::string run_answer(const RunView& view) {
  const Json& s = view.page.summary;
  const Numbers& n = view.numbers;
  std::string out;
  const std::string who =
      fmt::format("{} worker{} {}", s["workers"].size(), s["workers"].size() == 1 ? "" : "s",
                  s["architecture"] == "parameter-server" ? "under " + n("/consistency"_summary)
                                                          : "by " + n("/architecture"_summary));
  if (s["target"]["given"] == true && s["target"]["reached"] == true)
    out = fmt::format("<p class=\"lead\">{} reached {} after {} and {} update{}.</p>", who,
                      escaped(view.page.target), n("/target/sim_time_s"_summary, as_seconds),
                      n("/target/updates"_summary), s["target"]["updates"] == 1 ? "" : "s");
  else
    out = fmt::format("<p class=\"lead\">{} made {} update{} in {}{}.</p>", who, n("/updates"_summary),
                      s["updates"] == 1 ? "" : "s", n("/sim_time_s"_summary, as_seconds),
                      s["target"]["given"] == true ? " and did not reach " + escaped(view.page.target) : "");
  if (const std::string fault = fault_sentence(view); !fault.empty())
    out = fmt::format("<p class=\"lead\">{}</p>", fault) + out;
  out += fmt::format("<p>They computed {} of their time, waited {}, and were on the network {}",
                     n("/time/compute_share"_summary, as_percent), n("/time/wait_share"_summary, as_percent),
                     n("/time/network_share"_summary, as_percent));
  if (s["time"]["absent_share"].get<double>() > 0)
    out += fmt::format("; they were absent {}", n("/time/absent_share"_summary, as_percent));
  out += ".";
  if (n.at("/samples_per_s"_summary).is_number())
    out += fmt::format(" The cluster learned from {} samples a second.",
                       n("/samples_per_s"_summary, {.decimals = 0}));
  if (s.contains("final") && s["final"].contains("loss") && s["final"]["loss"].is_number())
    out += fmt::format(" The loss went from {} to {}.", n("/initial/loss"_summary), n("/final/loss"_summary));
  out += "</p>";
  if (view.page.why.contains("sentences")) {
    for (const Json& sentence : view.page.why["sentences"])
      out += fmt::format("<p>{}</p>", escaped(sentence.get<std::string>()));
  }
  return out;
}

Json run_document(const RunPage& page) {
  const Milestone milestone = milestone_of(page.summary);
  return {
      {"schema", "psim.report/1"},
      {"kind", "run"},
      {"name", name_of_run(page.summary)},
      {"sentences", page.why.contains("sentences") ? page.why["sentences"] : Json::array()},
      {"milestone",
       {{"name", milestone.name}, {"at_s", milestone.at_s}, {"sentences", page.milestone_sentences}}},
      {"goal", goal_of(page.summary["target"])},
      {"stuck", page.summary["stuck"]},
      {"facts", facts_of({&page.summary})},
      {"curves",
       {{"loss", curve_of(page.summary, "loss", 1)}, {"accuracy", curve_of(page.summary, "accuracy", 100)}}},
      {"summary", page.summary},
      {"drawn", run_data({.page = page, .numbers = Numbers(page.summary)})}};
}

std::string run_page(const RunPage& page) {
  const RunView view{.page = page, .numbers = Numbers(page.summary)};
  std::string body = header(view) + fmt::format("<section id=\"answer\">{}</section>", run_answer(view));
  if (page.timeline != nullptr) body += section("steps", "Step by step", "", "<div id=\"show\"></div>");
  body += page.timeline == nullptr ? section("no-timeline", "What every node did when", "", no_events(view))
                                   : section("lanes", waiting_heading(view), lane_keys(*page.timeline),
                                             happenings(*page.timeline) + "<div id=\"timeline\"></div>");
  body += section("training", "What the model learned meanwhile", "", loss_figure(view));
  body += section("staleness", "How stale the gradients were", "", staleness_figure(view));
  body += section(
      "waits", "Who held up whom",
      "How long each node (column) held up each worker (row). This includes the time of messages; the "
      "shares below show that time as network.",
      waits_table(view));
  body += section("path", "What takes the time",
                  "The critical path: a shorter piece of it makes the run shorter.", path_table(view));
  body += section("workers", page.timeline == nullptr ? waiting_heading(view) : "Each worker's time",
                  fmt::format("{}.", bar_keys), workers_figure(view));
  body += section("recoveries", "Recovery from each crash",
                  "Detection (1), takeover (2), transfer (3) and catch-up (4). A dash: the run ended before "
                  "the end of this phase.",
                  recoveries_figure(view));
  body += section("traffic",
                  fmt::format("{} messages, {}", view.numbers("/messages"_summary),
                              view.numbers("/bytes_sent"_summary, as_megabytes)),
                  "", traffic_table(view));
  body += section("made", "How this was made", "", made(view));
  return html_of({.title = name_of_run(page.summary) + " - psim", .body = body, .data = run_document(page)});
}

std::string show_page(const RunPage& page, std::optional<double> at, const Json& story) {
  const RunView view{.page = page, .numbers = Numbers(page.summary)};
  ShowFrom from{.date = at};
  if (!story.is_null()) from.event = story["moments"].at(0)["event"].get<std::int64_t>();
  Json drawn{{"timeline", timeline_json(*page.timeline)},
             {"show", show_json(*page.record, *page.timeline, from)},
             {"path", path_json(page.why["path"])}};
  if (at) drawn["timeline"]["opens"] = {*at, std::min(page.timeline->end, *at + page.timeline->end / 20)};
  return html_of(
      {.title = name_of_run(page.summary) + ", step by step - psim",
       .body = header(view) +
               section("steps", story.is_null() ? "Step by step" : escaped(story["title"].get<std::string>()),
                       "", "<div id=\"show\"></div>") +
               section("lanes", waiting_heading(view), lane_keys(*page.timeline),
                       happenings(*page.timeline) + "<div id=\"timeline\"></div>"),
       .data = {{"kind", "run"}, {"drawn", std::move(drawn)}, {"story", story}}});
}

}  // namespace psim::analysis
