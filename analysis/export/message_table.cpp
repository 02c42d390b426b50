#include "analysis/export/message_table.hpp"

#include <fmt/format.h>

#include <vector>

#include "analysis/render/text_table.hpp"

namespace psim::analysis {
namespace {

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", 1e3 * seconds); }

}  // namespace

std::string message_table(const Recording& recording, const MessageTable& options) {
  const std::vector<Lane>& lanes = recording.line.lanes;
  std::vector<TextColumn> columns{ColumnName("sent", "psim timeline --messages"),
                                  {"arrives"},
                                  {ColumnName("from", "psim timeline --messages"), true},
                                  {ColumnName("to", "psim timeline --messages"), true},
                                  {ColumnName("what", "psim timeline --messages"), true},
                                  ColumnName("clock", "psim timeline --messages"),
                                  ColumnName("bytes", "psim timeline --messages")};
  std::size_t shown = 0, left_out = 0, heartbeats = 0;
  for (const Message& one : recording.messages) {
    if (one.sent < options.from || one.sent > options.until) continue;
    if (one.kind == "heartbeat") {
      ++heartbeats;
      continue;
    }
    if (shown == options.most) {
      ++left_out;
      continue;
    }
    ++shown;
    add_row(columns,
            {milliseconds(one.sent), one.arrives ? milliseconds(one.end) : "lost", lanes[one.from].name,
             lanes[one.to].name, one.kind, fmt::to_string(one.clock), fmt::to_string(one.bytes)});
  }
  std::string text = render(columns, options.width);
  if (left_out > 0) text += fmt::format("... and {} more; --from and --until choose others\n", left_out);
  if (heartbeats > 0) text += fmt::format("{} heartbeats are left out\n", heartbeats);
  return text;
}

}  // namespace psim::analysis
