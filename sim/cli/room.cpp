
#include <fmt/format.h>

#include "model/machine_memory.hpp"
#include "sim/cli/command.hpp"
#include "sim/scenario/estimate.hpp"

namespace psim::cli {

std::string no_room(const LoadedScenario& loaded, const Command& command) {
  if (command.force) return "";
  const unsigned threads = thread_count(command.threads);
  const Estimate needed = estimate(loaded, threads);
  const auto limit = static_cast<double>(address_space_limit());
  if (needed.address_space() > limit)
    return fmt::format(
        "error: this run needs about {:.2g} GB of address space; the limit is {:.2g} GB\n"
        "  = note: {:.2g} GB of it for the stacks of {:.0f} nodes and {} threads\n"
        "  = help: raise the limit (ulimit -v), or take fewer nodes or --threads; or --force to try all the "
        "same\n",
        needed.address_space() / 1e9, limit / 1e9, needed.stacks / 1e9, needed.nodes, threads);
  const auto available = static_cast<double>(available_memory());
  if (needed.bytes() <= available) return "";
  const MemoryPart& most = needed.parts.front();
  return fmt::format(
      "error: this run needs about {:.2g} GB of memory; {:.2g} GB are available\n"
      "  = note: most of it, about {:.2g} GB, for {}\n"
      "  = note: it would send about {:.2g} messages\n"
      "  = help: {}; or --force to try all the same\n",
      needed.bytes() / 1e9, available / 1e9, most.bytes / 1e9, most.what, needed.messages, most.help);
}

}  // namespace psim::cli
