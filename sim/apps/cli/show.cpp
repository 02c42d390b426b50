// psim show: a run that plays step by step, and stories, which are sentences about moments of a run.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "analysis/causes/explain.hpp"
#include "analysis/page/page.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/study_report.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/record/identity.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/scenario/fields/field_tables.hpp"
#include "sim/scenario/reading/reader.hpp"

namespace psim::cli {
namespace {

// The first event after the moment before with these properties; empty or none: any.
struct StoryMoment {
  std::string event, kind, node, other, says;
  std::optional<std::int64_t> clock, version;
  std::int64_t count = 1;
  std::vector<std::string> lit, boxes;
};

struct Story {
  std::string name, title, scenario;
  std::vector<std::string> sets;
  std::vector<StoryMoment> moments;
};

void describe_moment(FieldVisitor& v, StoryMoment& m) {
  v.field("event", &m.event,
          "What happens: a phase of a computation, an outcome of a push, or a table of run.db.", required);
  v.field("kind", &m.kind, "The kind of the message or of the fault.");
  v.field("node", &m.node, "Where: \"worker 3\".");
  v.field("other", &m.other, "The other node: the receiver, the sender, the worker, the target.");
  v.field("clock", &m.clock, "Its clock.", within(0, 1e15));
  v.field("version", &m.version, "Its version.", within(0, 1e15));
  v.field("count", &m.count, "Which of such events: 7 for the seventh.", within(1, 1e6));
  v.field("says", &m.says, "The sentence.", required);
  v.field("lit", &m.lit, "The nodes that it speaks of.");
  v.field("boxes", &m.boxes, "What boxes show then, \"server 0: 7 of 8 pushes\"; the tests check it.");
}

void describe(FieldVisitor& v, Story& story) {
  v.field("title", &story.title, "What the story shows.", required);
  v.field("scenario", &story.scenario, "A scenario, by name or file.", required);
  v.field("set", &story.sets, "Overrides, as in --set.");
  v.tables("moment", "A moment of the run, in the order of time.", story.moments, describe_moment);
}

// The stories that come with psim: next to the scenarios, in docs/ of a checkout or in psim's installation.
fs::path story_folder() {
  const fs::path home = scenario_folder().parent_path(), installed = home / "stories";
  std::error_code error;
  return fs::is_directory(installed, error) ? installed : home / "docs/stories";
}

// A story's file, or the story of this name that comes with psim.
fs::path story_file(const std::string& name) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) return name;
  const fs::path shipped = story_folder() / (name + ".toml");
  if (fs::is_regular_file(shipped, error)) return shipped;
  std::vector<std::string> names;
  for (const fs::directory_entry& one : fs::directory_iterator(story_folder(), error))
    names.push_back(one.path().stem().string());
  std::ranges::sort(names);
  throw Refused(
      fmt::format("there is no story {}", name),
      fmt::format("stories that come with psim: {}; you may also name a file", fmt::join(names, ", ")));
}

// Throws Refused for a word that no event has.
void check_events(const Story& story) {
  std::vector<std::string> known;
  const auto add = [&](const auto& names) { known.insert(known.end(), names.begin(), names.end()); };
  add(phase_names), add(outcome_names), add(task_phase_names), add(event_table_names);
  for (const StoryMoment& moment : story.moments) {
    if (std::ranges::find(known, moment.event) != known.end() || moment.event.empty()) continue;
    const std::string near = nearest(moment.event, known);
    throw Refused(fmt::format("no event is called {}", moment.event),
                  near.empty() ? fmt::format("events: {}", fmt::join(known, ", "))
                               : fmt::format("did you mean {}?", near));
  }
}

// Throws Invalid, with all mistakes and their places.
Story story_in(const fs::path& path) {
  const std::string text = read_file(path);
  Diagnostics diagnostics;
  const std::size_t source = diagnostics.add_source({path.string(), text});
  ParsedText parsed = parse_text(text, source);
  Story story{.name = path.stem().string(), .title = {}, .scenario = {}, .sets = {}, .moments = {}};
  if (parsed.problem) {
    diagnostics.add(*parsed.problem);
  } else {
    const Document document{.root = std::move(parsed.root), .source = source};
    Reader reader(document, diagnostics);
    describe(reader, story);
    reader.finish({});
    check_events(story);
    if (story.moments.empty() && diagnostics.empty())
      throw Refused(fmt::format("the story {} has no [[moment]]", path.string()),
                    "docs/report.md describes stories");
  }
  if (!diagnostics.empty()) throw Invalid{diagnostics.render()};
  std::error_code error;  // a scenario next to the story
  if (const fs::path beside = path.parent_path() / story.scenario; fs::is_regular_file(beside, error))
    story.scenario = beside.string();
  return story;
}

bool is_at(const StoryMoment& moment, const analysis::Row& row, const std::vector<std::string>& names) {
  const auto is_node = [&](const std::string& name, std::uint32_t node) {
    return name.empty() || (node < names.size() && names[node] == name);
  };
  const std::string_view kind = row.message ? name_in(row.message->kind) : row.word();
  return row.name() == moment.event && (moment.kind.empty() || kind == moment.kind) &&
         is_node(moment.node, row.node) && is_node(moment.other, row.peer) &&
         moment.clock.value_or(row.clock) == row.clock && moment.version.value_or(row.version) == row.version;
}

// The moments with their events. Throws Refused if the run lacks a moment or a node.
Json told(const Story& story, const analysis::RunRecord& record) {
  for (const StoryMoment& moment : story.moments) {
    std::vector<std::string> nodes = moment.lit;
    nodes.insert(nodes.end(), {moment.node, moment.other});
    for (const std::string& name : nodes) {
      if (!name.empty() && std::ranges::find(record.names, name) == record.names.end())
        throw Refused(fmt::format("the run has no {}", name),
                      fmt::format("its nodes are {}", fmt::join(record.names, ", ")));
    }
  }
  Json moments = Json::array();
  std::int64_t seen = 0, events = 0;  // of this moment; since the first moment
  analysis::each_event(record, [&](const analysis::Row& row) {
    if (moments.size() == story.moments.size() || row.is_detail) return;
    if (!moments.empty()) ++events;
    const StoryMoment& next = story.moments[moments.size()];
    if (!is_at(next, row, record.names) || ++seen < next.count) return;
    moments.push_back({{"event", row.number}, {"says", next.says}, {"lit", next.lit}, {"boxes", next.boxes}});
    seen = 0;
  });
  if (moments.size() < story.moments.size())
    throw Refused(
        fmt::format("the run has no moment for \"{}\"", story.moments[moments.size()].says),
        fmt::format("psim found {} of the story's {} moments before; the events of a run are in its run.db",
                    moments.size(), story.moments.size()));
  if (events >= analysis::most_shown_events)
    throw Refused(fmt::format("the story spans {} events", events),
                  fmt::format("a page has at most {}: take moments nearer to each other, or fewer nodes",
                              analysis::most_shown_events));
  return {{"title", story.title}, {"moments", moments}};
}

// The first program of PATH that can draw a film. Throws Refused.
fs::path browser() {
  const char* const folders = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    for (std::string_view rest = folders == nullptr ? "" : folders; !rest.empty();) {
      const fs::path program = fs::path(take_until(rest, ":")) / name;
      std::error_code error;
      if (fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0) return program;
    }
  }
  throw Refused("a film needs Chromium, and PATH has none", "on Debian: apt-get install chromium");
}

// The film that the script of this page draws, from the date at which the page opens.
std::string film_of(const std::string& page, const fs::path& program) {
  const ScratchFolder scratch("psim-film");
  const fs::path html = scratch.path() / "show.html", out = scratch.path() / "out";
  write_file(html, page);
  std::vector<std::string> words{"--headless=new",
                                 "--window-size=1366,768",
                                 "--hide-scrollbars",
                                 "--disable-gpu",
                                 "--disable-dev-shm-usage",
                                 "--no-first-run",
                                 "--disable-extensions",
                                 "--user-data-dir=" + (scratch.path() / "browser").string(),
                                 "--dump-dom",
                                 "file://" + html.string() + "#film"};
  if (geteuid() == 0) words.insert(words.begin(), "--no-sandbox");  // it refuses to run as root with one
  Child child(std::move(words), out, scratch.path() / "err", {.program = program.string()});
  constexpr std::chrono::minutes patience{2};
  const bool ended = child.ends_within(patience);
  const std::string printed = ended ? read_file(out) : "";
  constexpr std::string_view mark = "<script type=\"image/svg+xml\">";
  const std::size_t begin = printed.find(mark), end = printed.find("</script>", begin);
  if (end == std::string::npos)
    throw std::runtime_error(
        fmt::format("{} has drawn no film: {}", program.string(),
                    ended ? how_it_ended(child.wait()) : "it did not end in two minutes"));
  return printed.substr(begin + mark.size(), end - begin - mark.size());
}

// Throws Refused if psim cannot write a film there.
void check_film(const fs::path& target) {
  check_is_file(target);
  check_own(target, {"<svg xmlns=\"http://www.w3.org/2000/svg\" data-psim=\"show\""}, "psim show --film");
  check_outside(target, "--film film.svg");
}

int show_run(const fs::path& dir, const fs::path& target, const ShowCommand& command,
             const std::optional<Story>& story) {
  const analysis::RunRecord record = open_record(dir);
  const analysis::Timeline timeline = analysis::timeline_of(record);
  if (std::ssize(record.names) > analysis::most_shown_nodes)
    throw Refused(fmt::format("{} has {} nodes", dir.string(), record.names.size()),
                  fmt::format("a page shows at most {}; psim report has a time line of all",
                              analysis::most_shown_nodes));
  if (command.at && *command.at > timeline.end)
    throw Refused(fmt::format("--at {} s is after the run's end, {:.4g} s", *command.at, timeline.end),
                  "name an earlier date");
  const analysis::RunPage page{.summary = record.summary,
                               .timeline = &timeline,
                               .record = &record,
                               .why = analysis::document(analysis::explain(record), record.facts),
                               .target = target_text(record.summary)};
  const std::string text = analysis::show_page(page, command.at, story ? told(*story, record) : Json());
  if (command.film.empty()) {
    put_page(target, text, "show");
  } else {
    put_file(command.film, film_of(text, browser()));
    fmt::print("film: {}\n", command.film);
  }
  return done;
}

// Makes the story's run in a temporary folder.
int show_story(const Story& story, const ShowCommand& command) {
  const std::string html = command.out.empty() ? story.name + ".html" : command.out;
  const fs::path target = command.film.empty() ? page_target(".", html) : fs::path();
  RunRequest request;
  request.scenario = find_scenario(story.scenario);
  request.sets = story.sets;
  request.trace = "events";
  const LoadedScenario loaded = load_for_run(request);
  const ScratchFolder scratch("psim-story");
  request.out = (scratch.path() / story.name).string();
  make_and_record(request, loaded, identity_of(loaded, scenario_name(request.scenario)));
  return show_run(request.out, target, command, story);
}

}  // namespace

int show(const ShowCommand& command) {
  if (!command.film.empty()) {
    check_film(command.film);
    browser();
  }
  std::optional<Story> story;
  if (!command.story.empty()) story = story_in(story_file(command.story));
  if (story && command.run.empty()) return show_story(*story, command);
  if (command.run.empty())
    throw Refused("psim show needs a run or a story", "psim show latest, or psim show --story NAME");
  const fs::path dir = run_named(command.run);
  return about_run(dir, [&] {
    const bool is_film = !command.film.empty();
    return show_run(dir, is_film ? fs::path() : page_target(dir, command.out, analysis::show_name), command,
                    story);
  });
}

}  // namespace psim::cli
