// The library: scenarios, runs and their results.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "psim/results.hpp"
#include "psim/run.hpp"
#include "psim/scenario.hpp"
#include "sim/record/event.hpp"
#include "sim/record/run_file.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/scenario/additions.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::api {

Scenario Scenario::from_file(std::filesystem::path path) {
  return Scenario({.name = path.string(), .text = {}, .sets = {}, .data_folders = {}});
}

Scenario Scenario::from_text(std::string toml, std::string name) {
  return Scenario({.name = std::move(name), .text = std::move(toml), .sets = {}, .data_folders = {}});
}

Scenario& Scenario::set(std::string key, std::string value) {
  parts_.sets.emplace_back(std::move(key), std::move(value));
  return *this;
}

Scenario& Scenario::seed(std::int64_t seed) { return set("seed", fmt::to_string(seed)); }

Scenario& Scenario::data_folder(std::filesystem::path folder) {
  parts_.data_folders.push_back(folder.string());
  return *this;
}

RunRequest request_of(const Scenario& scenario) {
  const Scenario::Parts& parts = scenario.parts();
  RunRequest request{.scenario = parts.name, .text = parts.text, .data_dirs = parts.data_folders};
  for (const auto& [key, value] : parts.sets) request.sets.push_back(key + "=" + value);
  return request;
}

namespace {

// All mistakes: as a list, and as text for people.
struct Loaded {
  std::optional<LoadedScenario> scenario = {};
  std::vector<Problem> problems = {};
  std::string text = {};
};

Loaded loaded(const Scenario& scenario) {
  check_additions();
  Diagnostics diagnostics;
  Loaded result;
  result.scenario = load_scenario(load_request(request_of(scenario), diagnostics), diagnostics);
  if (diagnostics.empty()) return result;
  for (const Diagnostic& one : diagnostics.list()) {
    const Source& source = diagnostics.sources()[one.place.source];
    const std::uint32_t line = one.place.line == 0 ? 0 : one.place.line + source.first_line - 1;
    result.problems.push_back({one.code, source.name, line, one.place.column, one.message, one.help});
  }
  std::ranges::stable_sort(result.problems, {}, &Problem::line);
  result.text = diagnostics.render();
  return result;
}

}  // namespace

LoadedScenario load(const Scenario& scenario) {
  Loaded found = loaded(scenario);
  if (!found.problems.empty()) throw BadScenario(found.text, std::move(found.problems));
  return std::move(*found.scenario);
}

std::vector<Problem> Scenario::problems() const { return loaded(*this).problems; }

std::string Scenario::resolved() const { return resolved_toml(load(*this).scenario); }

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

}  // namespace

Result result_in(const std::string& summary) try {
  const Json all = Json::parse(summary);
  Result result{.digest = all.at("digest"),
                .sim_time_s = all.at("sim_time_s"),
                .updates = all.at("updates"),
                .curve = {},
                .time_to_target_s = number_in(all.at("target"), "sim_time_s"),
                .stuck = all.at("stuck"),
                .summary = all.dump()};
  for (const Json& point : all.at("curve"))
    result.curve.push_back({.sim_time_s = point.at("sim_time_s"),
                            .updates = point.at("updates"),
                            .epoch = point.at("epoch"),
                            .loss = number_in(point, "loss").value_or(std::nan("")),
                            .accuracy = number_in(point, "accuracy")});
  return result;
} catch (const Json::exception& error) {
  throw std::invalid_argument(error.what());
}

namespace {

std::atomic<bool> has_watched = false;  // then SimGrid's clock has moved

// Passes events on until the observer throws. An exception in an actor of SimGrid would end the program.
class Guarded : public EventSink {
 public:
  explicit Guarded(EventSink& observer) : observer_(observer) {}
  void on(const Event& event, std::uint64_t hash) override {
    guard([&] { observer_.on(event, hash); });
  }
  void on_wire(std::uint64_t message, double begin, double end) override {
    guard([&] { observer_.on_wire(message, begin, end); });
  }
  void on_dependency(std::uint64_t event, const Dependency& need) override {
    guard([&] { observer_.on_dependency(event, need); });
  }
  void on_service(const Service& work) override {
    guard([&] { observer_.on_service(work); });
  }
  void on_step(const StepCost& cost) override {
    guard([&] { observer_.on_step(cost); });
  }
  void on_rate(const Rate& rate) override {
    guard([&] { observer_.on_rate(rate); });
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  template <class Call>
  void guard(Call&& call) {
    if (thrown_) return;
    try {
      call();
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }

  EventSink& observer_;
  std::exception_ptr thrown_;
};

RunAnswer made(const RunRequest& request, const LoadedScenario& loaded, EventSink* observer) {
  if (std::string why_not = no_room(loaded, request); !why_not.empty()) throw NoRoom{{std::move(why_not)}};
  const RunIdentity identity = identity_of(loaded, scenario_name(request.scenario));
  return {.summary = make_and_record(request, loaded, identity, observer).dump()};
}

RunRequest request_of(const Scenario& scenario, const RunOptions& options) {
  if (std::ranges::find(trace_names, options.trace) == trace_names.end())
    throw std::invalid_argument("RunOptions::trace must be none, steps or events, not " + options.trace);
  RunRequest request = request_of(scenario);
  request.threads = thread_count(options.threads);
  request.out = options.out;
  request.force = options.force;
  request.trace = options.out.empty() ? "none" : options.trace;
  request.costs = options.costs;
  return request;
}

Result result_of(const RunAnswer& answer) {
  if (answer.status == RunStatus::refused || answer.status == RunStatus::no_memory)
    throw RunRefused(answer.why);
  if (answer.status != RunStatus::done) throw RunFailed(answer.why);
  return result_in(answer.summary);
}

}  // namespace

Result run(const Scenario& scenario, const RunOptions& options) {
  if (has_watched)
    throw std::logic_error("psim::api::run copies this process and must come before psim::api::watch");
  const RunRequest request = request_of(scenario, options);
  const LoadedScenario loaded = load(scenario);
  return result_of(answer_of([&] { return run_apart([&] { return made(request, loaded, nullptr); }); }));
}

Result watch(const Scenario& scenario, EventSink& observer, const RunOptions& options) {
  const RunRequest request = request_of(scenario, options);
  const LoadedScenario loaded = load(scenario);
  if (has_watched.exchange(true))
    throw std::logic_error("psim::api::watch works once in a process; psim::api::run works many times");
  Guarded guarded(observer);
  const RunAnswer answer = answer_of([&] { return made(request, loaded, &guarded); });
  guarded.rethrow();
  return result_of(answer);
}

}  // namespace psim::api
