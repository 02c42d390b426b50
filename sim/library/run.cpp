#include "psim/run.hpp"

#include <atomic>
#include <optional>
#include <utility>

#include "sim/library/load.hpp"
#include "sim/runs/forked_run.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/runs/refused.hpp"
#include "sim/runs/room.hpp"
#include "sim/runs/shipped.hpp"

namespace psim::api {
namespace {

RunAnswer made(const RunRequest& request, const LoadedScenario& loaded, EventSink* observer) {
  if (std::string why_not = no_room(loaded, request); !why_not.empty()) throw NoRoom{{std::move(why_not)}};
  const RunIdentity identity = identity_of(loaded, scenario_name(request.scenario));
  return {.summary = make_and_record(request, loaded, identity, observer).dump()};
}

RunRequest request_of(const Scenario& scenario, const RunOptions& options) {
  RunRequest request = request_of(scenario);
  request.threads = thread_count(options.threads);
  request.out = options.out;
  request.trace = options.out.empty() ? "none" : options.trace;
  return request;
}

Result result_of(const RunAnswer& answer) {
  if (answer.status != RunStatus::done) throw RunFailed(answer.why);
  return result_in(answer.summary);
}

}  // namespace

Result run(const Scenario& scenario, const RunOptions& options) {
  const LoadedScenario loaded = load(scenario);
  return result_of(run_apart([&] { return made(request_of(scenario, options), loaded, nullptr); }));
}

Result watch(const Scenario& scenario, EventSink& observer, const RunOptions& options) {
  static std::atomic<bool> was_used = false;
  const LoadedScenario loaded = load(scenario);
  if (was_used.exchange(true))
    throw std::logic_error("psim::api::watch makes one run in a process; psim::api::run makes many");
  return result_of(answer_of([&] { return made(request_of(scenario, options), loaded, &observer); }));
}

}  // namespace psim::api
