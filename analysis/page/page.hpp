// A study or a run as one HTML file that asks for nothing: numbers, figures and the programs that move them.
// Without those programs all tables and figures are there as well.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_record.hpp"
#include "analysis/study/study.hpp"
#include "analysis/timeline/spans.hpp"
#include "analysis/word_docs.hpp"

namespace psim::analysis {

// What a page knows of a run of its study.
struct RunPlace {
  std::string command;  // that makes it again
  std::string report;   // its page, relative to the study's folder; empty: there is none
};

// A field that an arm sets, and what is said of it.
struct ArmField {
  std::string field, value;  // "consistency.model", "ssp"
  std::string doc;           // may be empty
  bool of_value = false;     // `doc` says what this value is; otherwise what the field is
};

struct StudyPage {
  const Study& study;
  const Evaluation& evaluation;
  std::string target = {};                  // "accuracy 93 %"; empty: runs have none, or several
  std::string command = {}, scenario = {};  // that make the study again
  std::map<std::string, RunPlace> runs = {};
  std::map<std::string, std::vector<ArmField>> arms = {};  // what each arm sets, where that is known
};
std::string study_page(const StudyPage& page);

struct RunPage {
  const Json& summary;
  const Timeline* timeline = nullptr;  // of a run that was recorded with all its events ...
  const RunRecord* record = nullptr;   // ... and these; null without them
  Json why = {};                       // "psim.why/1", the run's causes; null without them
  std::string target = {};
  std::string command = {}, scenario = {};  // that make the run again
  std::string with_events = {};             // that makes it with its events
};
std::string run_page(const RunPage& page);
// What that page is made of, for programs: "psim.report/1" with the run's `name`, its `sentences`, `facts`,
// `curves`, `summary` and `drawn`, the numbers of charts and time line.
Json run_document(const RunPage& page);

// The facts that pages and the playground show of a run, with what each of them is.
std::vector<FieldDoc> fact_docs();

// The playground: sliders for `controls`, each {name, label, doc, values, usual}, and what comes of two
// settings side by side. `data` also has "results" where they are there already, by the values of all
// controls, as a JSON list; without them the page asks the server that it comes from.
std::string play_page(const Json& data);

// What a page of sliders knows of a cell beside its runs' summaries: of its first run, where that was
// recorded with its events.
struct CellEvents {
  std::optional<Timeline> timeline = {};
  std::vector<std::string> sentences = {};  // why it took as long
  std::string command = {};                 // that makes it again
};
// A playground without a server: a slider for each axis of the study. `events`: by a run's hash.
std::string sliders_page(const Study& study, const std::map<std::string, CellEvents>& events);

// Parts of a page.
struct Sheet {
  std::string title, body;
  Json data;
  std::string script;      // behind the one that all pages have
  std::string style = {};  // likewise
  bool asks = false;       // the server that it comes from
};
std::string html_of(const Sheet& sheet);

}  // namespace psim::analysis
