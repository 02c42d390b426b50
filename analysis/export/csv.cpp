#include <fmt/format.h>

#include "analysis/export/exports.hpp"

namespace psim::analysis {
namespace {

// "worker 3"; a text with a comma or a quote is quoted (RFC 4180).
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

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
      out +=
          fmt::format("mark,{},{},{},{},,,,,{}\n", lane.name, mark.at, mark.at, mark.kind, cell(mark.text));
  }
  for (const Shade& shade : recording.line.shades)
    out += fmt::format("shade,{},{},{},,,,,,{}\n",
                       shade.node == Shade::everybody ? "all" : lanes[shade.node].name, shade.begin,
                       shade.end, cell(shade.text));
  return out;
}

}  // namespace psim::analysis
