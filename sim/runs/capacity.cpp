#include "sim/runs/capacity.hpp"

#include <fmt/format.h>

#include <cmath>

#include "model/base/memory.hpp"
#include "sim/scenario/estimate.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

std::string no_room(const LoadedScenario& loaded, const RunRequest& request) {
  if (request.force) return "";
  const unsigned threads = thread_count(request.threads);
  const Estimate needed = estimate(loaded, threads);
  const auto limit = static_cast<double>(address_space_limit());
  if (needed.address_space() > limit)
    return fmt::format(
        "error: this run needs about {:.2g} GB of address space; the limit is {:.2g} GB\n"
        "  = note: {:.2g} GB of it for the stacks of {:.0f} nodes and {}\n"
        "  = help: raise the limit (ulimit -v), or use fewer nodes or --threads; or try anyway with "
        "--force\n",
        needed.address_space() / 1e9, limit / 1e9, needed.stacks / 1e9, needed.nodes,
        counted(threads, "thread"));
  const auto available = static_cast<double>(available_memory());
  if (needed.bytes() <= available) return "";
  const MemoryPart& most = needed.parts.front();
  return fmt::format(
      "error: this run needs about {:.2g} GB of memory; {:.2g} GB are available\n"
      "  = note: most of it, about {:.2g} GB, for {}\n"
      "  = note: it would send about {:.2g} messages\n"
      "  = help: {}; or try anyway with --force\n",
      needed.bytes() / 1e9, available / 1e9, most.bytes / 1e9, most.what, needed.messages, most.help);
}

std::string slow_note(const LoadedScenario& loaded) {
  const Scenario& scenario = loaded.scenario;
  if (scenario.cluster.network.model != NetworkModel::fluid) return "";
  const Estimate needed = estimate(loaded, 1);
  // Messages times the square of overlapping transfers, per second: docs/network.md, "What it costs".
  constexpr double solved = 3e10;
  constexpr double long_run = 60;  // seconds
  const double overlap = static_cast<double>(scenario.cluster.workers) * needed.shards;
  const double seconds = needed.messages * overlap * overlap / solved;
  if (!(seconds > long_run) || !std::isfinite(seconds)) return "";
  return fmt::format(
      "note: this run may take about {:.2g} {}: up to {:.0f} of its {:.2g} transfers overlap, and the flow "
      "model recomputes all of them whenever one begins or ends\n"
      "  = help: --set cluster.network.model=nic takes the same time for each message, however many "
      "overlap\n",
      seconds < 7200 ? seconds / 60 : seconds / 3600, seconds < 7200 ? "minutes" : "hours", overlap,
      needed.messages);
}

}  // namespace psim
