#include <fmt/format.h>

#include <algorithm>

#include "analysis/page/parts.hpp"
#include "analysis/page/run_parts.hpp"

namespace psim::analysis {
namespace {

constexpr const char* timeline_script =
#include "analysis/page/timeline.js.inc"
    ;
constexpr const char* timeline_frame =
#include "analysis/page/timeline_draw.js.inc"
    ;
constexpr const char* run_script =
#include "analysis/page/run.js.inc"
    ;

std::string header(const RunView& view) {
  const Json& s = view.page.summary;
  const std::string title = s["title"].get<std::string>();
  return fmt::format("<header><p class=\"kind\">A run by psim {}: {}, seed {}</p><h1>{}</h1>{}</header>",
                     view.numbers("/psim"), view.numbers("/scenario"), view.numbers("/seed"),
                     escaped(title.empty() ? s["scenario"].get<std::string>() : title),
                     view.page.target.empty()
                         ? ""
                         : fmt::format("<p class=\"kind\">Target: {}</p>", escaped(view.page.target)));
}

std::string no_events(const RunView& view) {
  return fmt::format(
      "<p>This run was recorded without its events, so there is no time line of it. This makes it again with "
      "them:</p>"
      "<pre class=\"command\">{}</pre>",
      escaped(view.page.with_events));
}

// Whose patterns a time line has, and what its keys do.
std::string lane_keys() {
  return fmt::format(
      "{}, <span class=\"key service\"></span> a server at work. A dark line below a row is the critical "
      "path; tinted: "
      "a straggler's window or a fault.",
      bar_keys);
}

std::string made(const RunView& view) {
  const RunPage& page = view.page;
  std::string notes;
  for (const Json& note : page.summary["notes"])
    notes += fmt::format("<p>Note: {}</p>", escaped(note["text"].get<std::string>()));
  for (const Json& stuck : page.summary["stuck"])
    notes +=
        fmt::format("<p>Stuck: {}</p>", escaped(stuck.is_string() ? stuck.get<std::string>() : stuck.dump()));
  return notes + fmt::format(
                     "<p>Its digest is <code>{}</code>: whatever has this digest is the same run, event by "
                     "event. This makes it again:</p>"
                     "<pre class=\"command\">{}</pre><details><summary>The scenario, with every "
                     "default</summary><pre>{}</pre></details>"
                     "<p class=\"kind\">psim {}, instruction set {}, build {}. Numbers are those of "
                     "<code>summary.json</code>; point at "
                     "one to see all its digits.</p>",
                     view.numbers("/digest"), escaped(page.command), escaped(page.scenario),
                     view.numbers("/psim"), view.numbers("/instruction_set"), view.numbers("/build"));
}

}  // namespace

std::string waiting_heading(const RunView& view) {
  const std::string share = view.numbers("/time/wait_share", as_percent);
  const WaitedFor waits = waits_of(view.page.why);
  constexpr double nearly_all = 0.9, most = 0.5;
  const double part = waits.total > 0 ? waits.for_most / waits.total : 0;
  if (part < most) return fmt::format("Workers waited {} of their time", share);
  return fmt::format("Workers waited {} of their time, {} of it for {}", share,
                     part > nearly_all ? "nearly all" : "most", escaped(waits.most_awaited));
}

std::string run_answer(const RunView& view) {
  const Json& s = view.page.summary;
  const Numbers& n = view.numbers;
  std::string out;
  const std::string who = fmt::format(
      "{} workers {}", s["workers"].size(),
      s["architecture"] == "parameter-server" ? "under " + n("/consistency") : "by " + n("/architecture"));
  if (s["target"]["given"] == true && s["target"]["reached"] == true)
    out = fmt::format("<p class=\"lead\">{} reached {} after {} and {} updates.</p>", who,
                      escaped(view.page.target), n("/target/sim_time_s", as_seconds), n("/target/updates"));
  else
    out = fmt::format("<p class=\"lead\">{} made {} updates in {}{}.</p>", who, n("/updates"),
                      n("/sim_time_s", as_seconds),
                      s["target"]["given"] == true ? " and did not reach " + escaped(view.page.target) : "");
  out += fmt::format("<p>They computed {} of their time, waited {} and had messages on their way {}",
                     n("/time/compute_share", as_percent), n("/time/wait_share", as_percent),
                     n("/time/network_share", as_percent));
  if (s["time"]["absent_share"].get<double>() > 0)
    out += fmt::format("; {} they were absent", n("/time/absent_share", as_percent));
  out += ".";
  if (s.contains("final") && s["final"].contains("loss") && s["final"]["loss"].is_number())
    out += fmt::format(" The loss went from {} to {}.", n("/initial/loss"), n("/final/loss"));
  out += "</p>";
  if (view.page.why.contains("sentences")) {
    for (const Json& sentence : view.page.why["sentences"])
      out += fmt::format("<p>{}</p>", escaped(sentence.get<std::string>()));
  }
  return out;
}

std::string run_page(const RunPage& page) {
  const RunView view{.page = page, .numbers = Numbers(page.summary)};
  std::string body = header(view) + fmt::format("<section id=\"answer\">{}</section>", run_answer(view));
  body += page.timeline == nullptr
              ? section("no-timeline", "What every node did when", "", no_events(view))
              : section("lanes", waiting_heading(view), lane_keys(), lanes_figure(*page.timeline));
  body += section("training", "What the model learned meanwhile", "", loss_figure(view));
  body += section("waits", "Who waited for whom",
                  "Seconds that a row could not go on because of a column, with the messages in between.",
                  waits_table(view));
  body += section("path", "What the run's length is made of",
                  "The critical path: whatever lies on it, when it is shorter, makes the run shorter.",
                  path_table(view));
  body += section("workers", page.timeline == nullptr ? waiting_heading(view) : "Each worker's time",
                  fmt::format("{}.", bar_keys), workers_figure(view));
  body += section("recoveries", "How each crash was made good",
                  "Detection (1), takeover (2), transfer (3) and catch-up (4); `-`: it did not come so far.",
                  recoveries_figure(view));
  body += section(
      "traffic",
      fmt::format("{} messages, {}", view.numbers("/messages"), view.numbers("/bytes_sent", as_megabytes)),
      "", traffic_table(view));
  body += section("made", "How this was made", "", made(view));
  const std::string title = page.summary["title"].get<std::string>();
  return html_of({.title = (title.empty() ? page.summary["scenario"].get<std::string>() : title) + " - psim",
                  .body = body,
                  .data = run_data(view),
                  .script = fmt::format("{}\n{}\n{}", timeline_script, timeline_frame, run_script)});
}

}  // namespace psim::analysis
