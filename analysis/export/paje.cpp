// The format: L. M. Schnorr, "The Paje Trace Format". Definitions of events have the order of SimGrid's own
// traces, so programs that read those traces read these as well.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/export/exports.hpp"

namespace psim::analysis {
namespace {

// Numbers of kinds of events; each line of a trace begins with one.
enum Code : std::uint8_t {
  container_type,
  variable_type,
  state_type,
  event_type,
  link_type,
  entity_value,
  create,
  destroy,
  set,
  push,
  pop,
  start_link,
  end_link,
  new_event
};

constexpr const char* definitions =
    "%EventDef PajeDefineContainerType 0\n%  Alias string\n%  Type string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDefineVariableType 1\n%  Alias string\n%  Type string\n%  Name string\n%  Color color\n"
    "%EndEventDef\n"
    "%EventDef PajeDefineStateType 2\n%  Alias string\n%  Type string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDefineEventType 3\n%  Alias string\n%  Type string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDefineLinkType 4\n%  Alias string\n%  Type string\n%  StartContainerType string\n"
    "%  EndContainerType string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDefineEntityValue 5\n%  Alias string\n%  Type string\n%  Name string\n%  Color color\n"
    "%EndEventDef\n"
    "%EventDef PajeCreateContainer 6\n%  Time date\n%  Alias string\n%  Type string\n%  Container string\n"
    "%  Name string\n%EndEventDef\n"
    "%EventDef PajeDestroyContainer 7\n%  Time date\n%  Type string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeSetVariable 8\n%  Time date\n%  Type string\n%  Container string\n%  Value double\n"
    "%EndEventDef\n"
    "%EventDef PajePushState 9\n%  Time date\n%  Type string\n%  Container string\n%  Value string\n"
    "%EndEventDef\n"
    "%EventDef PajePopState 10\n%  Time date\n%  Type string\n%  Container string\n%EndEventDef\n"
    "%EventDef PajeStartLink 11\n%  Time date\n%  Type string\n%  Container string\n%  Value string\n"
    "%  StartContainer string\n%  Key string\n%EndEventDef\n"
    "%EventDef PajeEndLink 12\n%  Time date\n%  Type string\n%  Container string\n%  Value string\n"
    "%  EndContainer string\n%  Key string\n%EndEventDef\n"
    "%EventDef PajeNewEvent 13\n%  Time date\n%  Type string\n%  Container string\n%  Value string\n"
    "%EndEventDef\n";

constexpr std::pair<Use, const char*> state_colours[] = {{Use::compute, "0.00 0.62 0.45"},
                                                         {Use::network, "0.34 0.71 0.91"},
                                                         {Use::wait, "0.90 0.62 0.00"},
                                                         {Use::service, "0.00 0.45 0.70"},
                                                         {Use::down, "0.80 0.20 0.20"}};

std::string types(const Recording& recording) {
  std::string out = fmt::format("{} RUN 0 Run\n{} NODE RUN Node\n{} USE NODE Use\n{} MARK NODE Mark\n",
                                static_cast<int>(container_type), static_cast<int>(container_type),
                                static_cast<int>(state_type), static_cast<int>(event_type));
  out += fmt::format("{} MESSAGE RUN NODE NODE Message\n", static_cast<int>(link_type));
  out += fmt::format("{} LOSS RUN Loss \"0.0 0.0 0.0\"\n", static_cast<int>(variable_type));
  for (const auto& [use, colour] : state_colours)
    out += fmt::format("{} {} USE {} \"{}\"\n", static_cast<int>(entity_value), name_of(use), name_of(use),
                       colour);
  out +=
      fmt::format("{} {:.9f} run RUN 0 \"{}\"\n", static_cast<int>(create), recording.from, recording.name);
  for (const Lane& lane : recording.line.lanes)
    out += fmt::format("{} {:.9f} n{} NODE run \"{}\"\n", static_cast<int>(create), recording.from, lane.node,
                       lane.name);
  return out;
}

}  // namespace

std::string paje(const Recording& recording) {
  std::vector<std::pair<double, std::string>> lines;
  const auto add = [&](Code kind, double at, const std::string& rest) {
    lines.emplace_back(at, fmt::format("{} {:.9f} {}\n", static_cast<int>(kind), at, rest));
  };
  for (const Lane& lane : recording.line.lanes) {
    for (const Span& span : lane.spans) {
      add(push, span.begin, fmt::format("USE n{} {}", lane.node, name_of(span.use)));
      add(pop, span.end, fmt::format("USE n{}", lane.node));
    }
    for (const Mark& mark : lane.marks)
      add(new_event, mark.at, fmt::format("MARK n{} \"{}\"", lane.node, mark.text));
  }
  // An arrow needs two ends, and a lost message has only one. Ends after the end of the run belong to no
  // message.
  for (const Message& message : recording.messages) {
    const bool is_whole = message.arrives && message.sent >= recording.from && message.end <= recording.until;
    if (!is_whole) continue;
    add(start_link, message.sent,
        fmt::format("MESSAGE run {} n{} m{}", message.kind, message.from, message.number));
    add(end_link, message.end,
        fmt::format("MESSAGE run {} n{} m{}", message.kind, message.to, message.number));
  }
  if (recording.curves.size() == 1) {
    for (const auto& [at, loss] : recording.curves.front().points)
      add(set, at, fmt::format("LOSS run {}", loss));
  }
  std::ranges::stable_sort(lines, {}, &std::pair<double, std::string>::first);
  std::string out = std::string(paje_mark) + "\n" + definitions + types(recording);
  double end = recording.until;  // readers refuse what comes after a container's end
  for (const auto& [at, line] : lines) {
    out += line;
    end = std::max(end, at);
  }
  for (const Lane& lane : recording.line.lanes)
    out += fmt::format("{} {:.9f} NODE n{}\n", static_cast<int>(destroy), end, lane.node);
  return out + fmt::format("{} {:.9f} RUN run\n", static_cast<int>(destroy), end);
}

}  // namespace psim::analysis
