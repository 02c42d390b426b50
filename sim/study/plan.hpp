// A study: every combination of the axes' values, each with every seed, and what names it in tables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/tune.hpp"
#include "sim/study/request.hpp"

namespace psim::study {

// A run of a study. Runs that are the same scenario, because an axis has no meaning beside another one's
// value, have the same hash, and are made once.
struct PlannedRun {
  std::string arm;                     // the label of its value of the arms' axis
  std::vector<std::string> condition;  // of its values of the other axes, without the seed
  std::int64_t seed = 0;
  std::string hash;                      // of the scenario (identity.hpp)
  bool by_trace = false;                 // step times are those of a file, whatever the seed
  RunRequest request;                    // of it alone
  double seconds = 0;                    // of one core that it will roughly take
  double bytes = 0;                      // of memory, of a process of its own
  bool is_explained = false;             // its result tells why it took as long as it did
  std::optional<LoadedScenario> loaded;  // none where the data of all runs would take too much memory
};

// What else varies within every cell: an axis whose values depend on the cell.
struct Variant {
  std::string label;
  std::vector<std::string> sets;  // KEY=VALUE; later than all that the axes set
};
struct Variants {
  std::string axis;  // a condition axis, behind the others; empty: there is none
  std::function<std::vector<Variant>(const std::string& arm, const std::vector<std::string>& condition)> of;
};

struct Plan {
  std::string name, title;                  // of the scenario
  std::string arm_axis;                     // the axis whose values are compared: "arm", or the first one
  std::vector<std::string> condition_axes;  // the others
  std::vector<std::string> arms;            // in the order of the axis
  std::string hash;                         // of all runs, what they are called, and how they are tuned
  std::string text;                         // the scenario with its axes, as psim compare takes it
  std::optional<TuneSpec> tune;             // [tune]
  std::vector<PlannedRun> runs;             // the first axis slowest, seeds fastest
  std::string notes;                        // for people: what of the request has no effect
};

// 16 hexadecimal digits.
std::string hash_of_text(const std::string& text);

// Every run is checked before anything runs. Throws Invalid with all diagnostics, each once, when one is
// wrong. `runs`: they are to be run, so this machine must have room for each.
Plan plan_study(const Request& request, bool runs, const Variants& variants = {});

}  // namespace psim::study
