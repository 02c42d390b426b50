// psim why.
#include <fmt/format.h>

#include "analysis/causes/explain.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/see/see.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

analysis::Until until_of(const WhyCommand& command) {
  using What = analysis::Until::What;
  if (command.at) return {What::date, *command.at};
  return {command.until == "target" ? What::target : What::end};
}

}  // namespace

int why(const WhyCommand& command) {
  const analysis::RunRecord record(run_named(command.runs.front()));
  const analysis::Explanation why = analysis::explain(record, until_of(command));
  if (command.json) fmt::print("{}\n", analysis::document(why, record.facts).dump(2));
  else
    fmt::print("{}",
               analysis::text(why, record.facts, static_cast<std::size_t>(terminal_width().value_or(100))));
  return done;
}

}  // namespace psim::cli
