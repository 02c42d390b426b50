#include <fmt/format.h>

#include <algorithm>

#include "analysis/causes/words.hpp"
#include "analysis/render/text_table.hpp"

namespace psim::analysis {
namespace {

std::string until_text(const Explanation& why) {
  const Until& until = why.until;
  if (until.what == Until::What::date) return seconds_text(why.total);
  return until.what == Until::What::end ? "end" : "target";
}

Json json_of(const StalenessCost& cost) {
  return {{"updates_mean", cost.updates_mean},
          {"age_mean_s", cost.age_mean},
          {"age_max_s", cost.age_max},
          {"gradients", cost.applied},
          {"computations", cost.computations},
          {"torn", cost.torn},
          {"widest", cost.widest}};
}

Json json_of(const NetworkTime& time) {
  return {{"latency_s", time.latency},
          {"alone_s", time.alone},
          {"sharing_s", time.sharing},
          {"rest_s", time.rest}};
}

Json json_of(const LinkUse& link, const Facts& facts) {
  Json senders = Json::array();
  for (const LinkUse::Sender& sender : link.senders)
    senders.push_back({{"node", facts.name_of(sender.node)}, {"bytes", sender.bytes}});
  return {{"link", link.link.name},
          {"bytes", link.bytes},
          {"messages", link.messages},
          {"busy_s", link.busy},
          {"use", link.use},
          {"use_while_busy", link.use_while_busy},
          {"full_s", link.full_seconds()},
          {"senders", std::move(senders)}};
}

Json json_of(const MainCause& cause, double total, const Facts& facts) {
  Json nodes = Json::array();
  for (const std::uint32_t node : cause.nodes) nodes.push_back(facts.name_of(node));
  return {{"kind", name_of(cause.kind)},
          {"nodes", std::move(nodes)},
          {"seconds", cause.seconds},
          {"share", total > 0 ? cause.seconds / total : 0}};
}

Json json_of(const MainCause::FaultShare& share, const Facts& facts) {
  Json nodes = Json::array();
  for (const std::uint32_t node : share.first.nodes) nodes.push_back(facts.name_of(node));
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  return {{"fault", share.first.table},
          {"kind", share.first.kind},
          {"nodes", std::move(nodes)},
          {"times", share.times},
          {"on_path_s", share.on_path},
          {"cost_s", or_null(share.cost)},
          {"lost_updates", or_null(share.updates)}};
}

Json seconds_by_kind(const MainCause& cause) {
  Json seconds = Json::object();
  for (const auto& [kind, of_kind] : cause.by_kind) seconds[std::string(name_of(kind))] = of_kind;
  return seconds;
}

std::string shares_table(const Explanation& why, const Facts& facts, std::size_t width) {
  constexpr std::size_t shown = 8;
  std::vector<TextColumn> columns{
      {"on the critical path", true}, {"what", true}, ColumnName("time", "psim why"), {"share"}};
  const auto put = [&](const std::string& node, std::string_view kind, double seconds) {
    add_row(columns, {node, std::string(kind), seconds_text(seconds),
                      fmt::format("{:.1f} %", 100 * seconds / why.total)});
  };
  double rest = why.total;
  for (std::size_t n = 0; n < std::min(shown, why.shares.size()); ++n) {
    const Share& share = why.shares[n];
    rest -= share.seconds;
    put(facts.name_of(share.node), name_of(share.kind), share.seconds);
  }
  if (why.shares.size() > shown)
    put(fmt::format("{} more", why.shares.size() - shown), "", std::max(0.0, rest));
  return render(columns, width);
}

std::string waits_table(const Explanation& why, const Facts& facts, std::size_t width) {
  constexpr std::size_t shown = 12;
  std::vector<WaitTotal> waits = why.waits;
  std::ranges::stable_sort(waits, std::ranges::greater{}, &WaitTotal::seconds);
  std::vector<TextColumn> columns{{"held up", true},
                                  {"by", true},
                                  {"mostly", true},
                                  {"times"},
                                  ColumnName("time", "psim why"),
                                  ColumnName("from", "psim why"),
                                  ColumnName("to", "psim why")};
  for (std::size_t n = 0; n < std::min(shown, waits.size()); ++n) {
    const WaitTotal& wait = waits[n];
    add_row(columns, {facts.name_of(wait.waiter), facts.name_of(wait.awaited),
                      std::string(name_of(wait.kind)), fmt::to_string(wait.count), seconds_text(wait.seconds),
                      seconds_text(wait.first), seconds_text(wait.last)});
  }
  std::string table = render(columns, width);
  if (waits.size() > shown) table += fmt::format("{} more: --json shows all\n", waits.size() - shown);
  return table;
}

// Links that were full, if any were.
std::string links_table(const Explanation& why, const Facts& facts, std::size_t width) {
  std::vector<TextColumn> columns{
      {"link", true}, {"full"}, {"busy"}, {"use"}, ColumnName("bytes", "psim why"), {"mostly of", true}};
  for (const LinkUse& link : why.links) {
    if (!(link.full_seconds() > 0.01 * why.total)) continue;
    std::vector<std::uint32_t> senders;
    std::uint64_t bytes = 0;
    for (const LinkUse::Sender& sender : link.senders) {
      senders.push_back(sender.node);
      bytes += sender.bytes;
    }
    const bool are_most = static_cast<double>(bytes) > 0.6 * static_cast<double>(link.bytes);
    add_row(columns, {link.link.name, seconds_text(link.full_seconds()), seconds_text(link.busy),
                      fmt::format("{:.0f} %", 100 * link.use),
                      fmt::format("{:.3g} MB", static_cast<double>(link.bytes) / 1e6),
                      are_most ? names_of(facts, senders) : "many"});
  }
  return columns[0].cells.empty() ? "" : "\n" + render(columns, width);
}

std::string network_text(const NetworkTime& time) {
  const double all = time.latency + time.alone + time.sharing + time.rest;
  if (!(all > 0)) return "";
  const auto share = [all](double part) { return 100 * part / all; };
  std::string text = fmt::format(
      "the path's messages take {}: {:.0f} % latency, {:.0f} % transfer on free links, {:.0f} % extra on "
      "shared links",
      seconds_text(all), share(time.latency), share(time.alone), share(time.sharing));
  if (time.rest > 0.005 * all)
    text += fmt::format(", {:.0f} % work at both ends and faults", share(time.rest));
  return text + "\n";
}

std::string slack_table(const Explanation& why, const Facts& facts, std::size_t width) {
  constexpr std::size_t shown = 12;
  std::vector<NodeSlack> nodes = why.slack;
  std::ranges::stable_sort(nodes, std::ranges::greater{}, &NodeSlack::on_path);
  std::vector<TextColumn> columns{{"node", true}, {"computations, updates"}, {"on the path"}, {"slack"}};
  for (std::size_t n = 0; n < std::min(shown, nodes.size()); ++n) {
    const NodeSlack& node = nodes[n];
    add_row(columns, {facts.name_of(node.node), fmt::to_string(node.moments), fmt::to_string(node.on_path),
                      node.moments == node.without_effect ? "-" : seconds_text(node.median)});
  }
  return render(columns, width);
}

}  // namespace

std::string text(const Explanation& why, const Facts& facts, std::size_t width) {
  std::string out;
  for (const std::string& sentence : why.sentences) out += paragraph(sentence, width);
  out += "\n" + shares_table(why, facts, width);
  out += network_text(why.network);
  if (!why.waits.empty()) out += "\n" + waits_table(why, facts, width);
  out += links_table(why, facts, width);
  if (!why.slack.empty()) out += "\n" + slack_table(why, facts, width);
  const StalenessCost& cost = why.staleness;
  if (cost.applied > 0)
    out += fmt::format(
        "\ngradients were applied {} after their weights left the server, on average (at most {})\n",
        seconds_text(cost.age_mean), seconds_text(cost.age_max));
  if (cost.torn > 0)
    out += fmt::format("{} of {} steps used shards of different versions, at most {} version{} apart\n",
                       cost.torn, cost.computations, cost.widest, cost.widest == 1 ? "" : "s");
  return out;
}

Json short_document(const Explanation& why, const Facts& facts) {
  return {{"total_s", why.total},
          {"verdict", json_of(why.main_cause, why.total, facts)},
          {"by_kind", seconds_by_kind(why.main_cause)},
          {"sentence", why.sentences.front()}};
}

Json document(const Explanation& why, const Facts& facts) {
  Json path = Json::array(), shares = Json::array(), waits = Json::array(), slack = Json::array(),
       links = Json::array();
  for (std::size_t n = 0; n < why.path.size(); ++n) {
    const PathPiece& piece = why.path[n];
    Json one{{"node", facts.name_of(piece.node)},
             {"kind", name_of(piece.kind)},
             {"begin_s", piece.begin},
             {"end_s", piece.end},
             {"cause", why.causes[n]}};
    if (piece.kind == Kind::network) one["to"] = facts.name_of(piece.to);
    path.push_back(std::move(one));
  }
  Json faults = Json::array();
  for (const MainCause::FaultShare& share : why.main_cause.all_faults)
    faults.push_back(json_of(share, facts));
  for (const LinkUse& link : why.links) links.push_back(json_of(link, facts));
  for (const Share& share : why.shares)
    shares.push_back({{"node", facts.name_of(share.node)},
                      {"kind", name_of(share.kind)},
                      {"seconds", share.seconds},
                      {"share", share.seconds / why.total}});
  for (const WaitTotal& wait : why.waits)
    waits.push_back({{"worker", facts.worker(wait.waiter)},
                     {"for", facts.name_of(wait.awaited)},
                     {"mostly", name_of(wait.kind)},
                     {"count", wait.count},
                     {"seconds", wait.seconds},
                     {"first_s", wait.first},
                     {"last_s", wait.last}});
  for (const NodeSlack& node : why.slack)
    slack.push_back({{"node", facts.name_of(node.node)},
                     {"moments", node.moments},
                     {"on_path", node.on_path},
                     {"without_effect", node.without_effect},
                     {"least_s", node.least},
                     {"median_s", node.median}});
  return {{"schema", "psim.why/1"},
          {"until", until_text(why)},
          {"total_s", why.total},
          {"verdict", json_of(why.main_cause, why.total, facts)},
          {"by_kind", seconds_by_kind(why.main_cause)},
          {"faults", std::move(faults)},
          {"sentences", why.sentences},
          {"path", std::move(path)},
          {"shares", std::move(shares)},
          {"waits", std::move(waits)},
          {"slack", std::move(slack)},
          {"network", json_of(why.network)},
          {"links", std::move(links)},
          {"staleness", json_of(why.staleness)}};
}

}  // namespace psim::analysis
