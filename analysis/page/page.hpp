// A study or a run as one HTML file that needs no other file: numbers, data and the scripts that draw them.
// Without scripts a page shows its sentences, its tables and one chart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/render/html.hpp"
#include "analysis/render/svg_chart.hpp"
#include "analysis/run_record.hpp"
#include "analysis/study/study.hpp"
#include "analysis/timeline/spans.hpp"
#include "analysis/word_docs.hpp"

namespace psim::analysis {

// Where a run of a study is.
struct RunPlace {
  std::string command;  // that makes the run again
  std::string report;   // its page, relative to the folder of the study; empty: none
};

// A field that an arm sets, with its explanation.
struct ArmField {
  std::string field, value;  // "consistency.model", "ssp"
  std::string doc;           // may be empty
  bool of_value = false;     // true: `doc` explains this value; false: it explains the field
};

struct StudyPage {
  const Study& study;
  const Evaluation& evaluation;
  std::string target = {};  // "accuracy 93 %"; empty: the runs have no target, or different ones
  std::string command = {}, scenario = {};  // that make the study again
  std::map<std::string, RunPlace> runs = {};
  std::map<std::string, std::vector<ArmField>> arms = {};  // the fields that each arm sets, if known
};
std::string study_page(const StudyPage& page);

struct RunPage {
  const Json& summary;
  const Timeline* timeline = nullptr;  // null: the run was recorded without events
  const RunRecord* record = nullptr;   // null: without events
  Json why = {};                       // "psim.why/1", the causes of the run; null: without events
  std::vector<std::string> milestone_sentences = {};  // why it reached its milestone no sooner
  std::string target = {};
  std::string command = {}, scenario = {};  // that make the run again
  std::string with_events = {};             // that makes the run with its events
};
std::string run_page(const RunPage& page);
// A page with only the step-through and the time line. It opens at the date `at`, in simulated seconds. It
// needs the run's events, and a run of at most this many nodes. `story`: null, or its "title" and "moments"
// (docs/report.md).
inline constexpr std::int64_t most_shown_nodes = 100, most_shown_events = 12'000;
std::string show_page(const RunPage& page, std::optional<double> at, const Json& story);
// The date that the first fact of a run tells: when it reached its target, or without a target when most
// answers were right. The name is empty for a model without accuracy, the date null if the run missed it.
struct Milestone {
  std::string name;
  Json at_s;
};
Milestone milestone_of(const Json& summary);

// The content of the page for programs: "psim.report/1" with the `name` of the run, its `sentences`, its
// `milestone` with the sentences until then, `facts`, `curves`, `summary`, and `drawn`: the numbers of charts
// and time line.
Json run_document(const RunPage& page);

// The facts about a run on pages and in the playground, with their meanings.
std::vector<FieldDoc> fact_docs();

// The playground: sliders for `controls`, each {name, label, doc, values, usual}, and the results of two
// settings side by side. If `data` has "results", their keys are the values of all controls, as a JSON list.
// Without "results" the page asks its server.
std::string play_page(const Json& data);

// A class that predicts together: the page of its teacher and of its students. It asks its server for all.
std::string class_page();

// What a page of sliders knows of a cell in addition to summaries: data of its first run, if that was
// recorded with its events.
struct CellEvents {
  std::optional<Timeline> timeline = {};
  std::vector<std::string> sentences = {}, milestone_sentences = {};  // why it took that long
  std::string command = {};                                           // that makes the run again
};
// A playground without a server: a slider for each axis of the study. `events`: by the hash of a run.
std::string sliders_page(const Study& study, const std::map<std::string, CellEvents>& events);

// The parts of a page.
struct Sheet {
  std::string title, body;
  Json data;          // its "kind" chooses the script: run, study or play
  bool asks = false;  // whether it may ask its server
  // Its own; null: those of all reports.
  const char *style = nullptr, *script = nullptr;
};
std::string html_of(const Sheet& sheet);

// Parts that pages of studies and of runs have in common.

// A section with a heading (HTML) and `content`; empty without content.
std::string section(const char* id, const std::string& heading, const std::string& intro,
                    const std::string& content);

// A chart that no script draws.
std::string picture(const Plot& plot, const std::string& name);
// A chart for readers without scripts.
std::string still_picture(const Plot& plot, const std::string& name);

// Facts about runs for the playground and for programs. Each is {name, value, text, doc}; the value is the
// mean over these summaries. If a summary lacks the value, the value is null and the text "-".
Json facts_of(const std::vector<const Json*>& summaries);

// {x, mean, low, high}: the curve of "loss" or "accuracy", without a band.
Json curve_of(const Json& summary, const char* what, double scale);

// The target of a summary for charts: {"accuracy": 93} in percent; null if the target is no accuracy.
Json goal_of(const Json& target);

// A bar of the uses of a worker's time: the shares below `path`.
std::string share_bar(const Numbers& numbers, const std::string& path);
// Bars for at most `most` of the `workers`. The shares stand below `path`/workers.
std::string share_bars(const Numbers& numbers, const std::string& path, std::size_t workers,
                       std::size_t most);
// The legend for the patterns of a bar.
extern const char* const bar_keys;

}  // namespace psim::analysis
