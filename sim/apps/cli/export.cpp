// psim export.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/export/exports.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/spans.hpp"
#include "model/base/input.hpp"
#include "model/learner.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/further.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/study_report.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/cli/understand.hpp"
#include "sim/runs/again.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/simulation.hpp"
#include "sim/study/folder.hpp"

namespace psim::cli {
namespace {

bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }

void write(const fs::path& path, const std::string& text) {
  put_file(path, text);
  fmt::print("wrote {}\n", path.string());
}

// Throws Refused if `path` exists and psim export did not write it; with `force` only if it is not a file.
void check_file(const fs::path& path, std::string_view mark, bool force) {
  check_is_file(path);
  if (!is_there(path) || force) return;
  if (beginning_of(path, analysis::mark_within).find(mark) == std::string::npos)
    throw Refused(fmt::format("{} exists and was not written by psim export", path.string()),
                  "name another file, or give --force");
}

// Throws Refused if psim must not write charts to the folder of --svg.
void check_charts_folder(const ExportCommand& asked, const fs::path& exported) {
  check_outside(asked.svg, fmt::format("--svg {}-charts", fs::canonical(exported).filename().string()));
  if (is_there(asked.svg) && !fs::is_directory(asked.svg))
    throw Refused(fmt::format("{} is not a folder", asked.svg), "--svg needs a folder for its charts");
  check_can_make(folder_named(asked.svg), "--svg");
}

// Makes a folder that the user gave as `given`. Throws Refused.
void make_folder(const fs::path& folder, const std::string& given) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (is_machines(error)) throw fs::filesystem_error("make", folder, error);
  if (error) throw Refused(fmt::format("cannot make {}: {}", given, error.message()), help_of(error, folder));
}

// Writes charts into the folder of --svg. Makes the folder if needed. The files are already checked.
void write_charts(const ExportCommand& asked, const std::vector<analysis::Picture>& pictures) {
  const fs::path folder = folder_named(asked.svg);
  make_folder(folder, asked.svg);
  for (const analysis::Picture& one : pictures) write(folder / one.name, one.text);
}

struct Target {
  const char* option;
  const std::string& path;
  std::string_view mark;
};

// `options`: the options checked so far, by path.
void check_target_of(const Target& target, const std::string& name, bool force,
                     std::map<fs::path, const char*>& options) {
  const auto& [option, path, mark] = target;
  check_outside(path, fmt::format("{} {}.{}", option, name, option + 2));
  check_file(path, mark, force);
  check_distinct(path, option, options);
}

void check_charts(const ExportCommand& asked, const fs::path& run,
                  const std::map<fs::path, const char*>& options) {
  check_charts_folder(asked, run);
  const fs::path folder = fs::weakly_canonical(fs::absolute(folder_named(asked.svg)));
  for (const std::string_view chart : analysis::picture_names) {
    if (is_there(folder)) check_file(folder_named(asked.svg) / chart, analysis::svg_mark, asked.force);
    if (const auto same = options.find(folder / chart); same != options.end())
      throw Refused(fmt::format("{} and --svg name the same file, {}", same->second, same->first.string()),
                    "name two files");
  }
}

// Throws Invalid with all mistakes, before anything is written.
void check_targets(const ExportCommand& asked, const fs::path& run) {
  const std::string name = fs::canonical(run).filename().string();
  const Target files[] = {{"--perfetto", asked.perfetto, analysis::perfetto_mark},
                          {"--csv", asked.csv, analysis::csv_mark},
                          {"--dot", asked.dot, analysis::dot_mark},
                          {"--tikz", asked.tikz, analysis::tikz_mark}};
  std::map<fs::path, const char*> options;  // by path
  Refusals wrong;
  for (const Target& one : files) {
    if (!one.path.empty()) wrong.check([&] { check_target_of(one, name, asked.force, options); });
  }
  if (!asked.svg.empty()) wrong.check([&] { check_charts(asked, run, options); });
  wrong.throw_if_any();
}

// The window of pictures: as requested, or the same as in pages and psim timeline.
std::pair<double, double> window_of(const ExportCommand& asked, const analysis::Timeline& line) {
  const bool is_chosen = asked.from || asked.until;
  const analysis::Opening opening = analysis::opening_of(line);
  const double from = is_chosen ? asked.from.value_or(0) : opening.from;
  const double until = is_chosen ? std::min(asked.until.value_or(line.end), line.end) : opening.until;
  if (!(from < until))
    throw Refused(fmt::format("this window is empty: {:.6g} s to {:.6g} s", from, until),
                  fmt::format("the run ends at {:.6g} s", line.end));
  return {from, until};
}

class Export {
 public:
  Export(const ExportCommand& asked, fs::path run) : asked_(asked), folder_(std::move(run)) {
    check_targets(asked, folder_);
  }

  int answer() {
    const analysis::RunRecord run = open_record(folder_);
    const analysis::Recording all =
        analysis::recording_of(run, folder_.lexically_normal().filename().string());
    const auto [from, until] = window_of(asked_, all.line);
    const analysis::Recording window = analysis::part_of(all, from, until);
    const bool is_part = asked_.from || asked_.until;
    const analysis::Recording& chosen = is_part ? window : all;
    const std::string causes = asked_.dot.empty() ? "" : dot(run, all, from, until);  // may throw
    if (!asked_.perfetto.empty()) {
      write(asked_.perfetto, analysis::perfetto(chosen, flows(run, chosen)));
      if (!asked_.all_flows)
        fmt::print("its arrows are the messages of the critical path; --all-flows draws all {}\n",
                   chosen.messages.size());
    }
    if (!asked_.csv.empty()) write(asked_.csv, analysis::csv(chosen));
    if (!asked_.tikz.empty()) write(asked_.tikz, analysis::tikz(all, window));
    if (!asked_.svg.empty()) write_charts(asked_, analysis::pictures(all, window, asked_.width_mm));
    if (!asked_.dot.empty()) write(asked_.dot, causes);
    return done;
  }

 private:
  // Made once, when it is needed.
  const analysis::CausalGraph& graph_of(const analysis::RunRecord& run) {
    if (!graph_) graph_ = analysis::causal_graph(run);
    return *graph_;
  }

  std::vector<std::int64_t> flows(const analysis::RunRecord& run, const analysis::Recording& chosen) {
    if (!asked_.all_flows) return analysis::messages_of_path(run, graph_of(run));
    std::vector<std::int64_t> numbers;
    for (const analysis::Message& message : chosen.messages) numbers.push_back(message.number);
    return numbers;
  }

  // Without a range it shows as much as a picture can hold.
  std::string dot(const analysis::RunRecord& run, const analysis::Recording& all, double from, double until) {
    const analysis::CausalGraph& graph = graph_of(run);
    constexpr int halvings = 40;
    double end = until;
    for (int i = 0;; ++i) {
      try {
        std::string text = analysis::dot(analysis::part_of(all, from, end), graph);
        if (end < until)
          fmt::print("--dot shows {:.6g} s until {:.6g} s: a longer range has too many moments\n", from, end);
        return text;
      } catch (const std::length_error& error) {
        if (asked_.from || asked_.until || i == halvings)
          throw Refused(fmt::format("--dot: {}", error.what()),
                        "choose a shorter range with --from and --until");
        end = from + (end - from) / 2;
      }
    }
  }

  const ExportCommand& asked_;
  fs::path folder_;
  std::optional<analysis::CausalGraph> graph_;
};

// A run, named as in other commands, or else a study.
fs::path run_or_else_study(const ExportCommand& asked) {
  const Shelf runs = runs_shelf(), studies = studies_shelf();
  if (is_there(asked.run) || asked.run.empty() || !is_there(runs.home / asked.run))
    return run_or_study(asked.run);
  if (asked.run == "latest" && !asked.svg.empty() && is_there(studies.home / asked.run))
    say("note: `latest` is the latest run; the latest study is {}\n", (studies.home / asked.run).string());
  return found_on(runs, asked.run);
}

// psim export of a study: its charts.

struct OfRuns {
  std::string words;  // as the user gives them
  bool is_given;
  std::string instead;
};

// Throws Invalid for options that only runs have.
void check_options(const ExportCommand& asked, const fs::path& dir) {
  const std::string study = file_word(dir);
  const auto a_run = [&](const char* words) {
    return fmt::format("`psim export RUN {}`; `psim runs --study {}` lists the runs", words, study);
  };
  const OfRuns options[] = {
      {"--perfetto", !asked.perfetto.empty(), a_run("--perfetto FILE")},
      {"--csv", !asked.csv.empty(),
       fmt::format("runs.csv and curves.csv in {} are the study's tables; for a run: {}", study,
                   a_run("--csv FILE"))},
      {"--dot", !asked.dot.empty(), a_run("--dot FILE")},
      {"--weights", !asked.weights.empty(), a_run("--weights FOLDER")},
      {"--tikz", !asked.tikz.empty(), a_run("--tikz FILE")},
      {"--from", asked.from.has_value(), a_run("--from DATE --svg FOLDER")},
      {"--until", asked.until.has_value(), a_run("--until DATE --svg FOLDER")},
      {"--all-flows", asked.all_flows, a_run("--all-flows --perfetto FILE")}};
  Refusals wrong;
  for (const OfRuns& one : options) {
    wrong.check([&] {
      if (one.is_given)
        throw Refused(fmt::format("{} is for a run, but {} is a study: export it with --svg FOLDER",
                                  one.words, dir.string()),
                      one.instead);
    });
  }
  wrong.throw_if_any();
}

// Writes the charts of the study in `dir`. Throws Refused for formats that only runs have.
int export_study(const ExportCommand& asked, const fs::path& dir) {
  check_options(asked, dir);
  check_charts_folder(asked, dir);
  const study::StudyFolder folder(dir);
  const analysis::Study study = complete_results(folder);
  const analysis::StudyPictures made =
      analysis::study_pictures(study, analysis::evaluate(study), asked.width_mm);
  if (fs::exists(fs::symlink_status(folder_named(asked.svg)))) {
    for (const analysis::Picture& one : made.pictures)
      check_file(folder_named(asked.svg) / one.name, analysis::svg_mark, asked.force);
  }
  write_charts(asked, made.pictures);
  for (const std::string& remark : made.remarks) fmt::print("note: {}\n", remark);
  return done;
}

// psim export --weights. A run's folder keeps a hash of the last weights and not the weights: they can be as
// large as memory. So psim makes the run once more, and compares the hash.

// NumPy's format, version 1.0: magic, length of the header, header, numbers in C order. The header ends with
// a newline at a multiple of 64 bytes.
std::string npy(const ParameterArray& array, const Values& weights) {
  std::string shape;
  if (array.shape.empty()) shape = fmt::format("{},", array.range.count);
  for (const std::size_t size : array.shape) shape += fmt::format("{}, ", size);
  const std::size_t value = bytes_per_value(weights.precision());
  std::string header =
      fmt::format("{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}), }}", value, shape);
  constexpr std::size_t before = 10, unit = 64;
  header.resize((before + header.size() + unit) / unit * unit - before - 1, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() % 256);
  text += static_cast<char>(header.size() / 256);
  text += header;
  const auto* numbers = reinterpret_cast<const char*>(weights.raw()) + array.range.begin * value;
  return text.append(numbers, array.range.count * value);
}

// A file for each array of `model`.
void add_files(const ModelSpec& model, const TrainingResult& training, const std::string& prefix,
               std::vector<std::pair<std::string, std::string>>& files) {
  for (const ParameterArray& array : parameter_arrays(model))
    files.emplace_back(prefix + array.name + ".npy", npy(array, *training.last_weights));
}

void check_hash(const Json& model, const TrainingResult& training, const fs::path& run) {
  if (model.at("weights") == fmt::format("{:016x}", training.weights)) return;
  throw Refused(fmt::format("the run of {} has other last weights here than in its record", run.string()),
                "`psim replay` says what differs, and which programs and machines repeat a run exactly");
}

// Writes the last weights of the run in `dir`. Throws Refused.
void export_weights(const ExportCommand& asked, const fs::path& dir) {
  check_outside(asked.weights, "--weights last");
  check_can_make(folder_named(asked.weights), "--weights");
  const FinishedRun run = open_run(dir);
  const LoadedScenario loaded = load_again(run);
  if (!loaded.data && loaded.jobs.empty())
    throw Refused("--weights: a phantom model has no weights", "choose a run of another model.kind");
  Progress progress(loaded);
  const RunResult result = simulate(loaded, {.threads = thread_count(0), .context = {}}, {&progress});
  progress.erase();
  std::vector<std::pair<std::string, std::string>> files;
  if (result.spaces.empty()) {
    check_hash(run.summary.at("model"), result, dir);
    add_files(loaded.scenario.model, result, "", files);
  }
  for (std::size_t n = 0; n < result.spaces.size(); ++n) {
    const SpaceResult& space = result.spaces[n];
    const std::string& name = loaded.scenario.groups[space.groups.front()].name;
    if (!space.last_weights) continue;
    for (const Json& group : run.summary.at("groups")) {
      if (group.at("name") == name) check_hash(group.at("model"), space, dir);
    }
    add_files(space.scenario.model, space, name + ".", files);
  }
  const fs::path folder = folder_named(asked.weights);
  for (const auto& [name, text] : files) {
    if (!fs::exists(fs::symlink_status(folder / name))) continue;
    check_is_file(folder / name);
    if (!asked.force)
      throw Refused(fmt::format("{} exists", (folder / name).string()),
                    "name another folder, or give --force");
  }
  make_folder(folder, asked.weights);
  for (const auto& [name, text] : files) put_file(folder / name, text);
  fmt::print("wrote {} with the last weights to {}\n", counted(std::ssize(files), "file"), folder.string());
}

}  // namespace

int export_one(const ExportCommand& asked) {
  const std::initializer_list<std::string> targets{asked.perfetto, asked.csv, asked.dot, asked.svg,
                                                   asked.tikz};
  const bool has_target = std::ranges::any_of(targets, [](const std::string& path) { return !path.empty(); });
  if (!has_target && asked.weights.empty())
    throw Refused("psim export needs a format",
                  "give at least one of --perfetto, --csv, --dot, --tikz FILE, and --svg, --weights "
                  "FOLDER");
  const fs::path dir = run_or_else_study(asked);
  if (study::is_study(dir)) return export_study(asked, dir);
  return about_run(dir, [&] {
    if (has_target) Export(asked, dir).answer();
    if (!asked.weights.empty()) export_weights(asked, dir);
    return done;
  });
}

}  // namespace psim::cli
