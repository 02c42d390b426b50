// psim timeline.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/message_table.hpp"
#include "analysis/run_record.hpp"
#include "analysis/timeline/opening.hpp"
#include "analysis/timeline/text.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/understand.hpp"

namespace psim::cli {

int timeline(const TimelineCommand& asked) {
  const fs::path folder = run_named(asked.run);
  const analysis::RunRecord record = open_record(folder);
  const analysis::Recording all = asked.messages ? analysis::recording_of(record, "")
                                                 : analysis::Recording{.line = analysis::timeline_of(record)};
  const analysis::Timeline& line = all.line;
  constexpr std::int64_t few = 4;  // clocks, if the user gives neither clocks nor a date
  constexpr int unknown_width = 86;
  analysis::TimelineText options;
  const bool is_chosen = asked.from || asked.until || asked.clocks || asked.messages;
  const analysis::Opening opening = analysis::opening_of(line);
  options.from = is_chosen ? asked.from.value_or(0) : opening.from;
  options.until = !is_chosen                    ? opening.until
                  : asked.until                 ? std::min(*asked.until, line.end)
                  : asked.clocks || !asked.from ? analysis::end_of_clocks(line, asked.clocks.value_or(few))
                                                : line.end;
  options.width = asked.width.value_or(terminal_width().value_or(unknown_width));
  options.colour = may_colour();
  if (!(options.from < options.until))
    throw Refused(fmt::format("this window is empty: {:.6g} s to {:.6g} s", options.from, options.until),
                  fmt::format("the run ends at {:.6g} s", line.end));
  const std::string text =
      asked.messages ? analysis::message_table(all, {.from = options.from,
                                                     .until = options.until,
                                                     .width = static_cast<std::size_t>(options.width)})
                     : analysis::text_of(line, options);
  fmt::print("{}: {:.4g} s to {:.4g} s of {:.4g} s\n\n{}", folder.string(), options.from, options.until,
             line.end, text);
  return done;
}

}  // namespace psim::cli
