// Reads profiles from files; those of availability become faults.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "model/data/text.hpp"
#include "model/input.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/text/number_in.hpp"

namespace psim {
namespace {

namespace fs = std::filesystem;

std::optional<double> finite_number_in(const std::string& word) {
  const auto value = number_in<double>(word);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// One profile's file.
class ProfileFile {
 public:
  ProfileFile(ProfileSpec& profile, std::string path, const Check& check)
      : profile_(profile), path_(std::move(path)), check_(check) {}

  bool read(const fs::path& file) {
    constexpr std::uintmax_t most_bytes = 16'000'000;
    int number = 0;
    bool is_good = true;
    try {
      each_input_line(file, most_bytes, [&](std::string_view line) {
        std::string row(line.substr(0, line.find('#')));
        for (char& c : row) c = c == ',' || c == '\t' || c == '\r' ? ' ' : c;
        std::istringstream split(row);
        std::vector<std::string> words;
        for (std::string word; split >> word;) words.push_back(word);
        ++number;
        return is_good = words.empty() || take(number, words);
      });
    } catch (const InputError& error) {
      return refuse(error.what(), "this file", error.help);
    }
    if (!is_good) return false;
    if (profile_.rows.empty())
      return refuse(
          fmt::format("{} has no rows", profile_.file), "an empty file",
          fmt::format("a row is a date in seconds and {}, as in `0.5, {}`", values().what, values().example));
    if (profile_.every && profile_.rows.back().first >= profile_.every->value)
      return refuse(fmt::format("{} is longer than its period", profile_.file), "in this file",
                    fmt::format("the last date is {} s, and `every` is {} s", profile_.rows.back().first,
                                profile_.every->value));
    if (profile_.resampling.kind == ResamplingKind::blocks && profile_.resampling.block >= profile_.length())
      return refuse(fmt::format("{} has {:.6g} s", profile_.file, profile_.length()),
                    "too short for these blocks", "a block must be shorter than the profile");
    return true;
  }

 private:
  bool take(int number, const std::vector<std::string>& words) {
    const std::string at = fmt::format("{}:{}: ", profile_.file, number);
    if (words.size() != 2)
      return refuse(at + counted(std::ssize(words), "column"), "in this file",
                    "each line has a date in seconds and a value");
    const std::optional<double> date = finite_number_in(words[0]), value = finite_number_in(words[1]);
    if (!date || *date < 0 || *date > 1e9)
      return refuse(at + fmt::format("{} is not a date", in_backticks(words[0])), "in this file",
                    "dates are seconds from 0 to 1e9");
    if (!profile_.rows.empty() && *date <= profile_.rows.back().first)
      return refuse(at + fmt::format("{} s is not after {} s", words[0], profile_.rows.back().first),
                    "in this file", "dates must rise");
    const Values allowed = values();
    if (!value || !(*value >= allowed.least && *value <= allowed.most) ||
        (profile_.of == ProfileOf::availability && *value > 0 && *value < 1))
      return refuse(at + fmt::format("{} is not {}", in_backticks(words[1]), allowed.what), "in this file",
                    std::string(allowed.help));
    constexpr std::size_t most = 10'000;
    if (profile_.rows.size() == most)
      return refuse(at + "too many rows", "in this file", fmt::format("at most {}", most));
    profile_.rows.emplace_back(*date, *value / allowed.divided_by);
    return true;
  }

  struct Values {
    double least, most;
    std::string_view what, example, help;
    double divided_by = 1;
  };
  Values values() const {
    constexpr double least = 1e-6;
    if (profile_.of == ProfileOf::availability)
      return {.least = 0, .most = 1, .what = "0 or 1", .example = "0", .help = "1 is up, 0 is down"};
    if (profile_.of == ProfileOf::latency)
      return {.least = 0,
              .most = 3600,
              .what = "a latency",
              .example = "0.002",
              .help = "seconds from 0 to 3600 in addition to the latency of the network"};
    if (profile_.of == ProfileOf::speed)
      return {
          .least = least,
          .most = 1e6,
          .what = "a factor",
          .example = "0.25",
          .help = "factors are numbers from 1e-6 to 1e6; use of = \"availability\" for a worker that stops"};
    if (profile_.unit == ProfileUnit::factors)
      return {.least = least,
              .most = 1,
              .what = "a share of the bandwidth",
              .example = "0.25",
              .help = "numbers from 1e-6 to 1; give the largest bandwidth as cluster.network.bandwidth"};
    const double most = check_.s.cluster.network.bandwidth.value;
    return {.least = least * most,
            .most = most,
            .what = "a bandwidth",
            .example = "1e8",
            .help = "bytes per second, at most cluster.network.bandwidth and at least a millionth of it",
            .divided_by = most};
  }
  bool refuse(std::string message, std::string label, std::string help = {}) const {
    check_.add_data({path_ + ".file"}, std::move(message), std::move(label), std::move(help));
    return false;
  }

  ProfileSpec& profile_;
  std::string path_;
  const Check& check_;
};

// A crash for each time in which the workers are down, as a user would write it. Rows after the end of the
// run (`end`, in seconds) have no effect.
std::vector<FaultSpec> faults_of(const ProfileSpec& profile, double end) {
  std::vector<std::string> nodes;
  for (const std::int64_t worker : profile.workers) nodes.push_back(fmt::format("worker {}", worker));
  if (nodes.empty()) nodes.emplace_back("workers");
  std::vector<FaultSpec> faults;
  bool up = true;
  double since = 0;
  const auto add = [&](std::optional<double> until) {
    if (since >= end) return;
    FaultSpec& fault = faults.emplace_back();
    fault.kind = "crash";
    fault.nodes = nodes;
    fault.at = Seconds{since};
    fault.every = profile.every;
    if (until) fault.restart_after = Seconds{*until - since};
  };
  for (const auto& [date, value] : profile.rows) {
    const bool is_up = value > 0;
    if (is_up && !up) add(date);
    if (up && !is_up) since = date;
    up = is_up;
  }
  if (!up && !profile.every) add(std::nullopt);
  else if (!up)
    add(profile.every->value + (profile.rows.front().second > 0 ? profile.rows.front().first : 0));
  return faults;
}

bool are_known(const Scenario& scenario, const ProfileSpec& profile) {
  return std::ranges::all_of(profile.workers,
                             [&](std::int64_t worker) { return worker < scenario.cluster.workers; });
}

}  // namespace

void load_profiles(Scenario& scenario, const LoadRequest& request, Reading& reading,
                   Diagnostics& diagnostics) {
  std::vector<FaultSpec> faults;
  std::vector<Place> places;
  for (std::size_t i = 0; i < scenario.profiles.size(); ++i) {
    ProfileSpec& profile = scenario.profiles[i];
    const std::string path = fmt::format("profile.{}", i), field = path + ".file";
    const Check check{.s = scenario, .reading = reading, .diagnostics = diagnostics};
    const std::optional<Resampling> how = time_resampling(profile.resample);
    if (!how)
      check.add({path + ".resample"}, fmt::format("psim cannot resample `{}`", profile.resample),
                "not understood", "\"as it is\", or for example \"blocks of 10s\"");
    profile.resampling = how.value_or(Resampling{});
    if (!reading.given(field) || !reading.reliable(field)) continue;
    const std::optional<fs::path> found = find_file(request, profile.file);
    if (!found) {
      check.add_data({field}, fmt::format("there is no file `{}`", profile.file), "not found",
                     "looked for in --data-dir, PSIM_DATA and the scenario's folder");
      continue;
    }
    if (!ProfileFile(profile, path, check).read(*found)) profile.rows.clear();
    if (profile.of != ProfileOf::availability || profile.rows.empty()) continue;
    if (!are_known(scenario, profile)) continue;  // check_nodes reports it
    const std::optional<Seconds>& duration = scenario.training.duration;
    for (FaultSpec& fault : faults_of(profile, duration ? duration->value : HUGE_VAL)) {
      faults.push_back(std::move(fault));
      places.push_back(reading.places.at(field));
    }
  }
  for (std::size_t i = 0; i < faults.size(); ++i) {
    reading.places.try_emplace("fault", places[i]);
    reading.places[fmt::format("fault.{}", scenario.faults.size())] = places[i];
    scenario.faults.push_back(std::move(faults[i]));
  }
  // The resolved scenario has the faults, so it does not repeat the profiles.
  if (diagnostics.empty())
    std::erase_if(scenario.profiles, [&](const ProfileSpec& one) {
      return one.of == ProfileOf::availability && are_known(scenario, one);
    });
}

void settle_warmup(Scenario& scenario, const Reading& reading) {
  TrainingSpec& training = scenario.training;
  const bool starts = scenario.cluster.worker.startup.given() || scenario.cluster.server.startup.given();
  const bool can = scenario.architecture.has_servers() && training.algorithm == Algorithm::gradient &&
                   !scenario.model.kind->is_sparse;
  if (!reading.given("training.warmup") && training.warmup_steps > 0 && starts && can)
    training.warmup = Warmup::before_servers;
}

void settle_split(Scenario& scenario, const Document& document) {
  const bool learns = scenario.model.kind->has_numbers;
  if (document.root.contains("tune") && learns && !scenario.data.split_seed) scenario.data.split_seed = 1;
}

}  // namespace psim
