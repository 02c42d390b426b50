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
  enum { sent, arrives, from, to, what, clock, bytes };
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
    columns[sent].cells.push_back(milliseconds(one.sent));
    columns[arrives].cells.push_back(one.arrives ? milliseconds(one.end) : "lost");
    columns[from].cells.push_back(lanes[one.from].name);
    columns[to].cells.push_back(lanes[one.to].name);
    columns[what].cells.push_back(one.kind);
    columns[clock].cells.push_back(fmt::to_string(one.clock));
    columns[bytes].cells.push_back(fmt::to_string(one.bytes));
  }
  std::string text = render(columns, options.width);
  if (left_out > 0) text += fmt::format("... and {} more; --from and --until choose others\n", left_out);
  if (heartbeats > 0) text += fmt::format("{} heartbeats are left out\n", heartbeats);
  return text;
}

}  // namespace psim::analysis
