#include "psim/run.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string_view>
#include <utility>

#include "sim/library/load.hpp"
#include "sim/record/event.hpp"
#include "sim/record/run_file.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/capacity.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/record_run.hpp"

namespace psim::api {
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
