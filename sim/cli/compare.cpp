// psim compare: the cross product of the axes and seeds, each run in a process of its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "analysis/chart.hpp"
#include "analysis/comparison.hpp"
#include "sim/cli/command.hpp"
#include "sim/record/summary.hpp"

extern char** environ;

namespace psim::cli {
namespace {

struct Point {
  std::vector<std::string> labels;  // of the axes but the seed
  Command command;                  // what runs it alone
  std::int64_t seed = 0;
  std::string hash;
  std::optional<Json> summary;
};

// What the command line sets is no axis: neither the field itself, nor one that the axis's tables set, and
// would take back.
bool is_fixed(const Axis& axis, const std::vector<Override>& overrides) {
  const auto is_in = [](const std::string& field, const std::string& table) {
    return (field + ".").starts_with(table + ".");
  };
  return std::ranges::any_of(overrides, [&](const Override& override) {
    const auto is_set = [&](const std::string& field) {
      return is_in(field, override.key) || is_in(override.key, field);
    };
    return is_in(axis.key, override.key) || std::ranges::any_of(axis.fields, is_set);
  });
}

// The points of the cross product, the first axis slowest.
std::vector<Point> cross_product(const Command& command, const std::vector<Axis>& axes) {
  std::vector<Point> points{{.labels = {}, .command = command}};
  for (const Axis& axis : axes) {
    std::vector<Point> more;
    for (const Point& point : points) {
      for (const AxisValue& value : axis.values) {
        Point next = point;
        if (axis.key != "seed") next.labels.push_back(value.label);
        next.command.sets.push_back(axis.key + "=" + value.toml);
        more.push_back(std::move(next));
      }
    }
    points = std::move(more);
  }
  return points;
}

// Checks every point before anything runs. All their diagnostics, each once.
bool resolve(std::vector<Point>& points) {
  std::vector<std::string> reports;
  DataCache cache;
  for (Point& point : points) {
    Diagnostics diagnostics;
    LoadRequest request = load_request(point.command, diagnostics);
    request.cache = &cache;
    const std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
    if (!loaded || !diagnostics.empty()) {
      std::string report = diagnostics.render();
      if (std::ranges::find(reports, report) == reports.end()) reports.push_back(std::move(report));
      continue;
    }
    point.seed = loaded->scenario.seed;
    point.hash = scenario_hash(*loaded);
  }
  for (const std::string& report : reports) fmt::print(stderr, "{}", report);
  return reports.empty();
}

// Points that are the same scenario, because an axis has no meaning beside another one's value, are run and
// shown once, with all their labels.
void merge_equal(std::vector<Point>& points) {
  std::vector<Point> distinct;
  for (Point& point : points) {
    const auto same = std::ranges::find(distinct, point.hash, &Point::hash);
    if (same == distinct.end()) {
      distinct.push_back(std::move(point));
      continue;
    }
    for (std::size_t i = 0; i < point.labels.size(); ++i) {
      const auto between = [](const std::string& text) { return fmt::format(" or {} or ", text); };
      if (between(same->labels[i]).find(between(point.labels[i])) == std::string::npos)
        same->labels[i] += " or " + point.labels[i];
    }
  }
  points = std::move(distinct);
}

std::vector<std::string> child_arguments(const Point& point, unsigned threads) {
  const Command& c = point.command;
  std::vector<std::string> words{
      "psim", "run", c.scenario, "--out", c.out, "--threads", fmt::to_string(threads), "--trace", c.trace};
  for (const std::string& set : c.sets) words.insert(words.end(), {"--set", set});
  if (c.seed) words.insert(words.end(), {"--seed", fmt::to_string(*c.seed)});
  for (const std::string& dir : c.data_dirs) words.insert(words.end(), {"--data-dir", dir});
  if (c.force) words.emplace_back("--force");
  return words;
}

using Log = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A file without a name: another psim may be at work in the same folder.
Log open_log() {
  Log log(std::tmpfile(), std::fclose);
  if (!log) throw std::runtime_error("no temporary file for what a run says");
  return log;
}

std::string text_of(std::FILE* log) {
  std::rewind(log);
  std::string text;
  for (int c = std::fgetc(log); c != EOF; c = std::fgetc(log)) text += static_cast<char>(c);
  return text;
}

pid_t start(const Point& point, unsigned threads, std::FILE* log) {
  std::vector<std::string> words = child_arguments(point, threads);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(log), STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(fmt::format("cannot start a process: error {}", error));
  return child;
}

void show_progress(std::size_t finished, std::size_t total) {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K{}/{} runs", finished, total);
}

// Runs what is not done yet, `jobs` processes at a time.
void run_all(std::vector<Point>& points, unsigned jobs, unsigned threads) {
  struct Running {
    Point* point;
    Log log;
  };
  std::map<pid_t, Running> running;
  std::size_t finished = 0;
  auto next = points.begin();
  while (next != points.end() || !running.empty()) {
    show_progress(finished, points.size());
    if (next != points.end() && running.size() < jobs) {
      Point& point = *next++;
      if (!point.command.force) point.summary = finished_run(point.command.out, point.hash);
      if (point.summary) {
        ++finished;
      } else {
        Log log = open_log();
        const pid_t child = start(point, threads, log.get());
        running.emplace(child, Running{&point, std::move(log)});
      }
      continue;
    }
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    const auto found = running.find(child);
    if (found == running.end()) continue;
    const Running done = std::move(found->second);
    Point& point = *done.point;
    running.erase(found);
    ++finished;
    point.summary = finished_run(point.command.out, point.hash);
    if (!point.summary)
      throw std::runtime_error(fmt::format(
          "a run failed: {}\n{}", fmt::join(child_arguments(point, threads), " "), text_of(done.log.get())));
  }
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
}

int terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 86;
}

bool may_colour() {
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
         std::string_view(term) != "dumb";
}

std::string loss_chart(const analysis::Comparison& comparison) {
  std::vector<analysis::Series> series;
  for (const analysis::Group& group : comparison.groups) {
    const auto run = std::ranges::find(comparison.runs, group.point, &analysis::ComparedRun::point);
    analysis::Series one{
        .name = group.point.empty() ? "as it is" : fmt::format("{}", fmt::join(group.point, ", ")),
        .points = {}};
    for (const Json& point : run->summary["curve"]) {
      if (point["loss"].is_null()) break;  // diverged
      one.points.emplace_back(point["sim_time_s"].get<double>(), point["loss"].get<double>());
    }
    if (!one.points.empty()) series.push_back(std::move(one));
    if (series.size() == 12) break;
  }
  return analysis::chart(series, {.x_label = "s",
                                  .y_label = "loss",
                                  .width = std::clamp(terminal_width() - 14, 40, 100),
                                  .height = 16,
                                  .colour = may_colour()});
}

}  // namespace

int compare(const Command& command) {
  Diagnostics diagnostics;
  const LoadRequest request = load_request(command, diagnostics);
  std::optional<std::vector<Axis>> axes = load_axes(request, diagnostics);
  if (!axes || !diagnostics.empty()) {
    fmt::print(stderr, "{}", diagnostics.render());
    return bad_input;
  }
  std::erase_if(*axes, [&](const Axis& axis) { return is_fixed(axis, request.overrides); });
  std::vector<Point> points = cross_product(command, *axes);
  if (!resolve(points)) return bad_input;
  merge_equal(points);

  const bool temporary = command.json && command.out.empty();
  const fs::path base = temporary ? fs::temp_directory_path() / fmt::format("psim-compare-{}", getpid())
                        : command.out.empty() ? fs::path("runs")
                                              : fs::path(command.out);
  fs::create_directories(base);
  for (Point& point : points)
    point.command.out =
        (base / run_directory(scenario_name(command.scenario), point.hash).filename()).string();

  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned jobs =
      std::min(command.jobs > 0 ? command.jobs : cores, static_cast<unsigned>(points.size()));
  run_all(points, jobs, command.threads > 0 ? command.threads : std::max(1U, cores / jobs));

  std::vector<std::string> names;
  for (const Axis& axis : *axes) {
    if (axis.key != "seed") names.push_back(axis.key);
  }
  std::vector<analysis::ComparedRun> runs;
  for (Point& point : points) runs.push_back({point.labels, point.seed, std::move(*point.summary)});
  const analysis::Comparison comparison = analysis::compare(names, std::move(runs));
  if (temporary) fs::remove_all(base);
  if (command.json) {
    fmt::print("{}\n", analysis::document(comparison).dump(2));
    return done;
  }
  fmt::print("{}    (psim {})\n", replay_line(command).replace(5, 3, "compare"), version_text());
  if (const std::string title = comparison.runs.front().summary["title"]; !title.empty())
    fmt::print("{}\n", title);
  fmt::print("\n{}\n", analysis::table(comparison));
  const bool several = comparison.runs.size() > comparison.groups.size();
  if (several)
    fmt::print(
        "± is the standard deviation over seeds, paired: every group meets the same data, draws and "
        "stragglers.\n\n");
  fmt::print("{}", loss_chart(comparison));
  if (several) fmt::print("\nCurves are of seed {}.", comparison.runs.front().seed);
  fmt::print("\n{} runs under {}/   next: psim run {} --set ..., or open {}/*/run.db with sqlite3\n",
             comparison.runs.size(), base.string(), command.scenario, base.string());
  return done;
}

}  // namespace psim::cli
