// What psim promises about the digest of a run that is made again, perhaps on another machine.
#pragma once

#include <string>

#include "sim/runs/outcome.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

struct DigestPromise {
  std::string rule;        // one line: which programs give the same digest
  std::string exceptions;  // why another digest would break no promise; empty: it would break the promise

  // The line about a digest that differs.
  std::string verdict() const;
};

// `recorded` and `here` are the summaries of the two runs. Only the properties of the program count.
DigestPromise promise_on_digest(const LoadedScenario& loaded, const Json& recorded, const Json& here);

}  // namespace psim
