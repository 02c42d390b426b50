#include "analysis/export/recording.hpp"

#include <algorithm>
#include <cstddef>

#include "analysis/causes/explain.hpp"
#include "analysis/run_record.hpp"

namespace psim::analysis {
namespace {

LossCurve curve_in(const Json& of, std::string name) {
  LossCurve curve{std::move(name), {}};
  for (const Json& row : of.at("curve")) {
    if (row.at("loss").is_number())
      curve.points.emplace_back(row.at("sim_time_s").get<double>(), row.at("loss").get<double>());
  }
  return curve;
}

std::vector<LossCurve> curves_in(const Json& summary) {
  std::vector<LossCurve> curves;
  if (summary.contains("groups")) {
    for (const Json& group : summary.at("groups"))
      curves.push_back(curve_in(group, group.at("name").get<std::string>()));
  } else if (summary.contains("curve")) {
    curves.push_back(curve_in(summary, ""));
  }
  std::erase_if(curves, [](const LossCurve& one) { return one.points.empty(); });
  return curves;
}

}  // namespace

Recording recording_of(const RunRecord& run, std::string name) {
  Recording all;
  all.name = std::move(name);
  all.line = timeline_of(run);
  all.until = all.line.end;
  all.curves = curves_in(run.summary);
  std::vector<std::size_t> place;  // by number of an event: among the messages
  each_event(run, [&](const Row& row) {
    if (row.is<Sent>()) {
      place.resize(static_cast<std::size_t>(row.number) + 1, ~std::size_t{0});
      place.back() = all.messages.size();
      all.messages.push_back({.number = row.number,
                              .sent = row.at,
                              .end = all.line.end,
                              .from = row.node,
                              .to = row.peer,
                              .kind = std::string(row.word()),
                              .clock = row.clock,
                              .bytes = row.bytes});
    }
    const auto number = static_cast<std::size_t>(row.sent);
    if (row.is<Received, Lost>() && number < place.size() && place[number] != ~std::size_t{0}) {
      Message& message = all.messages[place[number]];
      message.end = row.at;
      message.arrives = row.is<Received>();
    }
    if (row.is(Outcome::applied)) all.applied.push_back({row.at, row.node, row.staleness});
    if (row.is_step(ComputePhase::begun) && row.part == 0)
      all.begun.push_back({row.at, run.facts.worker(row.node), row.clock});
  });
  return all;
}

Recording part_of(Recording all, double from, double until) {
  all.from = from;
  all.until = until;
  const auto is_outside = [&](double at) { return at < from || at > until; };
  for (Lane& lane : all.line.lanes) {
    std::erase_if(lane.spans, [&](const Span& one) { return one.end <= from || one.begin >= until; });
    for (Span& span : lane.spans) {
      span.begin = std::max(span.begin, from);
      span.end = std::min(span.end, until);
    }
    std::erase_if(lane.marks, [&](const Mark& one) { return is_outside(one.at); });
  }
  std::erase_if(all.line.shades, [&](const Shade& one) { return one.end <= from || one.begin >= until; });
  std::erase_if(all.messages, [&](const Message& one) { return one.end < from || one.sent > until; });
  std::erase_if(all.applied, [&](const Applied& one) { return is_outside(one.at); });
  std::erase_if(all.begun, [&](const Begun& one) { return is_outside(one.at); });
  for (LossCurve& curve : all.curves)
    std::erase_if(curve.points, [&](const auto& point) { return is_outside(point.first); });
  return all;
}

std::vector<std::int64_t> messages_of_path(const RunRecord& run, const CausalGraph& graph) {
  std::vector<std::int64_t> numbers;
  for (const PathPiece& piece : explain(run, graph).path) {
    if (const std::int64_t message = message_of(graph, piece); message >= 0) numbers.push_back(message);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

}  // namespace psim::analysis
