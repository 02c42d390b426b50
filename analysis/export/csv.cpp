#include <fmt/format.h>

#include "analysis/export/exports.hpp"
#include "analysis/study/files.hpp"

namespace psim::analysis {
std::string csv(const Recording& recording) {
  const std::vector<Lane>& lanes = recording.line.lanes;
  std::string out(csv_mark);
  for (const Lane& lane : lanes) {
    for (const Span& span : lane.spans)
      out += fmt::format("span,{},{},{},{},{},{},{},,\n", lane.name, span.begin, span.end, name_of(span.use),
                         span.for_node == lane.node ? "" : lanes[span.for_node].name, span.clock,
                         span.message < 0 ? "" : fmt::to_string(span.message));
  }
  for (const Message& one : recording.messages)
    out += fmt::format("{},{},{},{},{},{},{},{},{},\n", one.arrives ? "message" : "lost message",
                       lanes[one.from].name, one.sent, one.end, one.kind, lanes[one.to].name, one.clock,
                       one.number, one.bytes);
  for (const Lane& lane : lanes) {
    for (const Mark& mark : lane.marks)
      out += fmt::format("mark,{},{},{},{},,,,,{}\n", lane.name, mark.at, mark.at, mark.kind,
                         csv_field(mark.text));
  }
  for (const Shade& shade : recording.line.shades)
    out += fmt::format("shade,{},{},{},,,,,,{}\n",
                       shade.node == Shade::everybody ? "all" : lanes[shade.node].name, shade.begin,
                       shade.end, csv_field(shade.text));
  return out;
}

}  // namespace psim::analysis
