// psim why.
#include <fmt/format.h>

#include <array>

#include "analysis/causes/difference.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/gradients.hpp"
#include "sim/apps/cli/understand.hpp"

namespace psim::cli {
namespace {

analysis::Until until_of(const WhyCommand& command) {
  using What = analysis::Until::What;
  if (command.at) return {What::date, *command.at};
  return {command.until == "target" ? What::target : What::end};
}

std::size_t width() { return static_cast<std::size_t>(terminal_width().value_or(100)); }

int why_two(const WhyCommand& command) {
  if (command.gradients)
    throw Refused("--gradients takes one run", "use psim why RUN --gradients for each run");
  const std::array<std::string, 2> names{command.runs[0], command.runs[1]};
  const std::array records{open_record(run_named(names[0])), open_record(run_named(names[1]))};
  const analysis::Difference difference = analysis::difference_of(records, names, until_of(command));
  if (command.json) fmt::print("{}\n", analysis::document(difference, records).dump(2));
  else fmt::print("{}", analysis::text(difference, width()));
  return done;
}

}  // namespace

int why(const WhyCommand& command) {
  if (command.runs.size() == 2) return why_two(command);
  const fs::path run = run_named(command.runs.front());
  const analysis::RunRecord record = open_record(run);
  const analysis::Explanation why = analysis::explain(record, until_of(command));
  std::optional<GradientsReport> gradients;
  if (command.gradients) gradients = measure_gradients(run);
  if (command.json) {
    Json document = analysis::document(why, record.facts);
    if (gradients) document["gradients"] = gradients->json;
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print("{}", analysis::text(why, record.facts, width()));
    if (gradients) fmt::print("\n{}", gradients->text);
  }
  return done;
}

}  // namespace psim::cli
