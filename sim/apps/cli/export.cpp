// psim export, of a run.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/run_record.hpp"
#include "analysis/timeline/opening.hpp"
#include "model/input.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/export.hpp"
#include "sim/apps/cli/replay_study.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/study/folder.hpp"

namespace psim::cli {
namespace {

bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }

void write(const fs::path& path, const std::string& text) {
  put_file(path, text);
  fmt::print("wrote {}\n", path.string());
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
  const auto [first, is_new] = options.try_emplace(fs::weakly_canonical(fs::absolute(path)), option);
  if (!is_new)
    throw Refused(fmt::format("{} and {} name the same file, {}", first->second, option, path),
                  "name two files");
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
                          {"--paje", asked.paje, analysis::paje_mark},
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
    if (!asked_.paje.empty()) write(asked_.paje, analysis::paje(chosen));
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

}  // namespace

void check_file(const fs::path& path, std::string_view mark, bool force) {
  check_is_file(path);
  if (!is_there(path) || force) return;
  if (beginning_of(path, analysis::mark_within).find(mark) == std::string::npos)
    throw Refused(fmt::format("{} exists and was not written by psim export", path.string()),
                  "name another file, or give --force");
}

void check_charts_folder(const ExportCommand& asked, const fs::path& exported) {
  check_outside(asked.svg, fmt::format("--svg {}-charts", fs::canonical(exported).filename().string()));
  if (is_there(asked.svg) && !fs::is_directory(asked.svg))
    throw Refused(fmt::format("{} is not a folder", asked.svg), "--svg needs a folder for its charts");
  check_can_make(folder_named(asked.svg), "--svg");
}

void write_charts(const ExportCommand& asked, const std::vector<analysis::Picture>& pictures) {
  const fs::path folder = folder_named(asked.svg);
  make_folder(folder, asked.svg);
  for (const analysis::Picture& one : pictures) write(folder / one.name, one.text);
}

void make_folder(const fs::path& folder, const std::string& given) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (is_machines(error)) throw fs::filesystem_error("make", folder, error);
  if (error) throw Refused(fmt::format("cannot make {}: {}", given, error.message()), help_of(error, folder));
}

int export_one(const ExportCommand& asked) {
  const std::initializer_list<std::string> targets{asked.perfetto, asked.paje, asked.csv,
                                                   asked.dot,      asked.svg,  asked.tikz};
  const bool has_target = std::ranges::any_of(targets, [](const std::string& path) { return !path.empty(); });
  if (!has_target && asked.weights.empty())
    throw Refused("psim export needs a format",
                  "give at least one of --perfetto, --paje, --csv, --dot, --tikz FILE, and --svg, --weights "
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
