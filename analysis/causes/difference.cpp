#include "analysis/causes/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/causes/words.hpp"
#include "analysis/render/text_table.hpp"

namespace psim::analysis {
namespace {

std::vector<ShareChange> changes_of(const std::array<RunRecord, 2>& records,
                                    const std::array<Explanation, 2>& runs) {
  std::map<std::pair<std::string, Kind>, std::array<double, 2>> seconds;
  for (std::size_t run = 0; run < 2; ++run) {
    for (const Share& share : runs[run].shares)
      seconds[{records[run].facts.name_of(share.node), share.kind}][run] += share.seconds;
  }
  std::vector<ShareChange> changes;
  const double noise = 1e-9 * std::max(runs[0].total, runs[1].total);  // of roundings
  for (const auto& [key, both] : seconds) {
    if (std::max(both[0], both[1]) > noise) changes.push_back({key.first, key.second, both});
  }
  std::ranges::stable_sort(changes, std::ranges::greater{},
                           [](const ShareChange& change) { return std::abs(change.difference()); });
  return changes;
}

// "worker 3 sends push of step 4 to server 0"
std::string event_text(const Facts& facts, const Moment& moment) {
  const std::string node = facts.name_of(moment.node), peer = facts.name_of(moment.peer);
  const std::string_view word = moment.word();
  if (moment.is<Lost>()) return fmt::format("{} of {} is lost", word, node);
  if (moment.is<Sent>())
    return word == "push" || word == "pull" || word == "weights"
               ? fmt::format("{} sends {} to {} (step {})", node, word, peer, moment.clock)
               : fmt::format("{} sends {} to {}", node, word, peer);
  if (moment.is<Received>()) return fmt::format("{} receives {} from {}", node, word, peer);
  if (moment.is(ComputePhase::begun)) return fmt::format("{} begins step {}", node, moment.clock);
  if (moment.is(ComputePhase::ended)) return fmt::format("{} has computed step {}", node, moment.clock);
  if (moment.is<ModelUpdate>())
    return fmt::format("{} makes version {} of shard {}", node, moment.version, moment.shard);
  if (moment.is<Wait>())
    return fmt::format("{} continues, held up since {}", node, seconds_text(moment.since));
  if (moment.is<Release>()) return fmt::format("{} answers a delayed pull of {}", node, peer);
  if (moment.is<FaultChange>()) return fmt::format("fault {} at {}", word, peer);
  if (moment.is(Outcome::applied))
    return fmt::format("{} applies a push of {} (step {})", node, peer, moment.clock);
  return fmt::format("{} at {}", moment.name(), node);
}

bool same(const CausalGraph& a, const CausalGraph& b, std::uint32_t id) {
  const Moment &one = a.moments[id], &other = b.moments[id];
  return one.at == other.at && one.node == other.node && one.peer == other.peer && one.is_like(other) &&
         one.clock == other.clock && one.version == other.version && one.shard == other.shard &&
         one.bytes == other.bytes;
}

std::optional<Difference::Parting> parting_of(const std::array<RunRecord, 2>& records, const CausalGraph& a,
                                              const CausalGraph& b) {
  const auto shorter = static_cast<std::uint32_t>(std::min(a.size(), b.size()));
  std::uint32_t id = 0;
  while (id < shorter && same(a, b, id)) ++id;
  if (id == shorter) return std::nullopt;
  return Difference::Parting{
      .at = std::min(a.moments[id].at, b.moments[id].at),
      .events = {event_text(records[0].facts, a.moments[id]), event_text(records[1].facts, b.moments[id])}};
}

// "2.65 s less of worker 3's computing"
std::string change_text(const ShareChange& change) {
  constexpr std::array<std::string_view, kind_names.size()> whats{"idle time at {}",
                                                                  "{}'s computing",
                                                                  "messages of {}",
                                                                  "{}'s work on messages",
                                                                  "waiting for timeouts of {}",
                                                                  "faults at {}"};
  return fmt::format("{} {} of {}", seconds_text(std::abs(change.difference())),
                     change.difference() < 0 ? "less" : "more",
                     fmt::format(fmt::runtime(whats[static_cast<std::size_t>(change.kind)]), change.node));
}

std::vector<std::string> sentences_of(const Difference& d) {
  const double seconds = d.seconds();
  std::string first = fmt::format("{} took {}, {} {}", d.names[1], seconds_text(d.runs[1].total), d.names[0],
                                  seconds_text(d.runs[0].total));
  if (std::abs(seconds) > 1e-3 * d.runs[0].total && d.runs[0].total > 0 && d.runs[1].total > 0) {
    const double ratio =
        std::max(d.runs[0].total, d.runs[1].total) / std::min(d.runs[0].total, d.runs[1].total);
    first += fmt::format(": {} {}, {:.3g} times as {}", seconds_text(std::abs(seconds)),
                         seconds < 0 ? "less" : "more", ratio, seconds < 0 ? "fast" : "long");
  }
  std::vector<std::string> parts;
  for (const ShareChange& change : d.changes) {
    if (parts.size() < 3 && std::abs(seconds) > 1e-3 * d.runs[0].total &&
        std::abs(change.difference()) > 0.1 * std::abs(seconds) && change.difference() != 0)
      parts.push_back(change_text(change));
  }
  std::vector<std::string> sentences{first + "."};
  if (!parts.empty()) {
    std::string second = "Its critical path has " + parts.front();
    for (std::size_t n = 1; n < parts.size(); ++n)
      second += (n + 1 == parts.size() ? " and " : ", ") + parts[n];
    sentences.push_back(second + ".");
  }
  if (d.parting)
    sentences.push_back(fmt::format("The first difference is at {}: in {}, {}; in {}, {}.",
                                    seconds_text(d.parting->at), d.names[0], d.parting->events[0], d.names[1],
                                    d.parting->events[1]));
  else sentences.push_back("Both runs have the same events up to the end of the shorter run.");
  return sentences;
}

std::vector<std::string> cautions_of(const std::array<RunRecord, 2>& records) {
  std::vector<std::string> cautions;
  const auto differ = [&](const char* field) {
    return records[0].summary.at(field) != records[1].summary.at(field);
  };
  if (differ("seed"))
    cautions.push_back(
        "the runs have different seeds, so chance is one of the causes: compare runs with the same seed");
  if (differ("scenario"))
    cautions.push_back("the runs have different scenarios, so they may not be comparable");
  const auto is_reached = [](const RunRecord& record) {
    const Json& target = record.summary.at("target");
    return !target.value("given", false) || target.value("reached", false);
  };
  if (is_reached(records[0]) != is_reached(records[1]))
    cautions.push_back("only one of the runs reached its target, so their times are not comparable");
  return cautions;
}

}  // namespace

Difference difference_of(const std::array<RunRecord, 2>& records, const std::array<std::string, 2>& names,
                         Until until) {
  const CausalGraph first = causal_graph(records[0]), second = causal_graph(records[1]);
  Difference d{.names = names,
               .runs = {explain(records[0], first, until), explain(records[1], second, until)},
               .changes = {},
               .parting = parting_of(records, first, second),
               .sentences = {},
               .cautions = cautions_of(records)};
  d.changes = changes_of(records, d.runs);
  d.sentences = sentences_of(d);
  return d;
}

std::string text(const Difference& d, std::size_t width) {
  constexpr std::size_t shown = 10;
  std::string out;
  for (const std::string& sentence : d.sentences) out += paragraph(sentence, width);
  for (const std::string& caution : d.cautions) out += paragraph("note: " + caution, width);
  std::vector<TextColumn> columns{{"on the critical path", true},
                                  {"what", true},
                                  TextColumn::called(d.names[0]),
                                  TextColumn::called(d.names[1]),
                                  {"difference"}};
  const auto put = [&](const std::string& node, std::string_view kind, double a, double b) {
    add_row(columns, {node, std::string(kind), seconds_text(a), seconds_text(b),
                      (b < a ? "-" : "+") + seconds_text(std::abs(b - a))});
  };
  std::array<double, 2> rest{};
  for (std::size_t n = 0; n < d.changes.size(); ++n) {
    const ShareChange& change = d.changes[n];
    if (n < shown) put(change.node, name_of(change.kind), change.seconds[0], change.seconds[1]);
    else
      for (std::size_t run = 0; run < 2; ++run) rest[run] += change.seconds[run];
  }
  if (d.changes.size() > shown) put(fmt::format("{} more", d.changes.size() - shown), "", rest[0], rest[1]);
  put("all", "", d.runs[0].total, d.runs[1].total);
  return out + "\n" + render(columns, width);
}

Json document(const Difference& d, const std::array<RunRecord, 2>& records) {
  Json runs = Json::array(), changes = Json::array();
  for (std::size_t run = 0; run < 2; ++run) {
    Json one = document(d.runs[run], records[run].facts);
    one["run"] = d.names[run];
    runs.push_back(std::move(one));
  }
  for (const ShareChange& change : d.changes)
    changes.push_back({{"node", change.node},
                       {"kind", name_of(change.kind)},
                       {"first_s", change.seconds[0]},
                       {"second_s", change.seconds[1]},
                       {"difference_s", change.difference()}});
  Json all{{"schema", "psim.why-difference/1"},
           {"sentences", d.sentences},
           {"cautions", d.cautions},
           {"difference_s", d.seconds()},
           {"differences", std::move(changes)}};
  if (d.parting)
    all["parting"] = {
        {"at_s", d.parting->at}, {"first", d.parting->events[0]}, {"second", d.parting->events[1]}};
  else all["parting"] = nullptr;
  all["runs"] = std::move(runs);
  return all;
}

}  // namespace psim::analysis
