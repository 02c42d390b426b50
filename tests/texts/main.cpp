// psim_texts: loads mutated scenario files, in this process, without running them. Whatever the text, loading
// must end soon, with a scenario or with diagnostics that a user can act on.
//   psim_texts SOURCE_FOLDER [--seed N] [--runs N] [--first N] [--out DIR]
// Text i depends on the seed and i only; --first I --runs 1 repeats one. What fails is left in DIR; so is the
// text at hand (current.toml), should the process die.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/base/random.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "tests/texts/mutator.hpp"

namespace fs = std::filesystem;

namespace psim::test {
namespace {

struct Options {
  fs::path source, out = "text-failures";
  std::uint64_t seed = 1, first = 0, runs = 1000;
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Sound ones several times, because most changes of a broken one only break it further.
std::vector<std::string> scenarios_below(const fs::path& source) {
  std::vector<std::string> texts;
  for (const auto& [folder, times] :
       {std::pair{"scenarios", 6}, std::pair{"tests/bad_scenarios", 1}, std::pair{"tests/fuzz", 6}}) {
    std::vector<fs::path> paths;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source / folder)) {
      if (entry.path().extension() == ".toml") paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    for (int i = 0; i < times; ++i)
      for (const fs::path& path : paths) texts.push_back(content(path));
  }
  return texts;
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// The number of code points of line `number`, from 1; -1 when the text has no such line.
std::int64_t width_of(const std::string& text, std::uint32_t number) {
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < number; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return -1;
    ++begin;
  }
  return code_points(std::string_view(text).substr(begin, text.find('\n', begin) - begin));
}

// What is wrong with a diagnostic; empty when nothing is.
std::string flaw_of(const Diagnostic& d, const std::vector<Source>& sources) {
  if (std::ranges::none_of(topics(), [&](const Topic& topic) { return topic.name == d.code; }))
    return fmt::format("unknown code `{}`", d.code);
  if (d.message.empty()) return "no message";
  if (d.place.source >= sources.size()) return "no source";
  if (d.place.line == 0) return "";
  const std::int64_t width = width_of(sources[d.place.source].text, d.place.line);
  if (width < 0) return fmt::format("line {} is not there", d.place.line);
  // What is missing at a line's end is shown just behind it; a bare word counts as long as with its quotes.
  if (d.place.column < 1 || d.place.column > width + 1)
    return fmt::format("column {} of a line of {}", d.place.column, width);
  if (d.place.end_line < d.place.line ||
      (d.place.end_line == d.place.line &&
       (d.place.end_column < d.place.column || d.place.end_column > width + 3)))
    return fmt::format("from column {} to {} of a line of {}", d.place.column, d.place.end_column, width);
  return "";
}

class Session {
 public:
  explicit Session(const Options& options)
      : options_(options), corpus_(scenarios_below(options.source)), current_(options.out / "current.toml") {
    fs::create_directories(options.out);
  }

  int run() {
    for (std::uint64_t i = options_.first; i < options_.first + options_.runs; ++i) {
      Stream stream(options_.seed, "texts", i);
      const std::string text = mutated_text(corpus_, stream);
      write(current_, text);
      const double begin = cpu_seconds();
      alarm(60);
      std::string failure;
      try {
        failure = judge();
      } catch (const std::exception& error) {
        failure = fmt::format("exception: {}", error.what());
      }
      alarm(0);
      const double took = cpu_seconds() - begin;
      if (took > slowest_) slowest_ = took, slowest_text_ = i;
      if (failure.empty() && took > most_seconds) failure = fmt::format("{:.1f} s of CPU time", took);
      if (!failure.empty()) report(i, text, failure);
      if (cache_.size() > 40) cache_.clear();
    }
    fs::remove(current_);
    fmt::print("{} texts, {} of them scenarios, {} failed; slowest: text {}, {:.2f} s\n", options_.runs,
               accepted_, failed_, slowest_text_, slowest_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  static constexpr double most_seconds = 10;

  std::optional<LoadedScenario> load(const fs::path& path, Diagnostics& diagnostics) {
    return load_scenario(
        {.path = path.string(),
         .overrides = {},
         .data_dirs = {options_.source / "tests/bad_scenarios", options_.source / "scenarios"},
         .cache = &cache_,
         .without_data = true},
        diagnostics);
  }

  // What psim did wrong with the current text; empty when nothing.
  std::string judge() {
    Diagnostics diagnostics;
    const std::optional<LoadedScenario> loaded = load(current_, diagnostics);
    if (loaded.has_value() != diagnostics.empty()) return "neither a scenario nor a diagnostic, or both";
    for (const Diagnostic& one : diagnostics.list()) {
      if (const std::string flaw = flaw_of(one, diagnostics.sources()); !flaw.empty())
        return fmt::format("{}: error[{}]: {}", flaw, one.code, one.message);
    }
    if (!loaded) {
      const std::string shown = diagnostics.render();
      const auto unsafe = [](char c) {
        return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t';
      };
      return std::ranges::any_of(shown, unsafe) ? "a control character in the report" : "";
    }
    ++accepted_;
    return judge_echo(*loaded);
  }

  // A run's scenario.toml is its echo, and must mean the same.
  std::string judge_echo(const LoadedScenario& loaded) {
    const fs::path path = options_.out / "echo.toml";
    write(path, resolved_toml(loaded.scenario));
    Diagnostics diagnostics;
    const std::optional<LoadedScenario> again = load(path, diagnostics);
    if (!again) return "its echo is refused: " + diagnostics.render();
    if (resolved_toml(again->scenario) != resolved_toml(loaded.scenario)) return "its echo has another echo";
    if (scenario_hash(*again) != scenario_hash(loaded)) return "its echo has another hash";
    fs::remove(path);
    return "";
  }

  void report(std::uint64_t i, const std::string& text, const std::string& failure) {
    ++failed_;
    const fs::path path = options_.out / fmt::format("seed-{}-text-{}.toml", options_.seed, i);
    write(path, text);
    fmt::print("text {}: {}\n  see {}\n", i, failure, path.string());
  }

  Options options_;
  std::vector<std::string> corpus_;
  fs::path current_;
  DataCache cache_;
  std::uint64_t accepted_ = 0, failed_ = 0, slowest_text_ = 0;
  double slowest_ = 0;
};

Options options_of(const std::vector<std::string>& words) {
  Options options;
  const auto number = [](const std::string& word) {
    std::uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool more = i + 1 < words.size();
    if (words[i] == "--seed" && more) options.seed = number(words[++i]);
    else if (words[i] == "--runs" && more) options.runs = number(words[++i]);
    else if (words[i] == "--first" && more) options.first = number(words[++i]);
    else if (words[i] == "--out" && more) options.out = words[++i];
    else options.source = words[i];
  }
  return options;
}

}  // namespace
}  // namespace psim::test

int main(int count, char** words) {
  const psim::test::Options options = psim::test::options_of({words + 1, words + count});
  if (options.source.empty()) {
    fmt::print(stderr, "psim_texts SOURCE_FOLDER [--seed N] [--runs N] [--first N] [--out DIR]\n");
    return 2;
  }
  return psim::test::Session(options).run();
}
