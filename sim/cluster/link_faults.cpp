#include "sim/cluster/link_faults.hpp"

#include <algorithm>

#include "model/base/random.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

LinkFaults::LinkFaults(const Scenario& scenario) : seed_(static_cast<std::uint64_t>(scenario.seed)) {
  const std::uint32_t nodes = node_count(scenario.cluster);
  const auto marked = [nodes](const std::vector<NodeId>& in) {
    std::vector<bool> marks(nodes, false);
    for (const NodeId node : in) marks[node] = true;
    return marks;
  };
  for (const FaultSpec& spec : scenario.faults) {
    Fault fault{.spec = spec, .sides = {}, .active = std::vector<int>(nodes + 1, 0)};
    if (!spec.between.empty()) {
      const auto sides = fault_sides(scenario.cluster, spec.between);
      for (std::size_t side = 0; side < 2; ++side) fault.sides[side] = marked(sides[side]);
    } else {  // messages of these nodes, with any other node
      fault.sides[0] = spec.nodes.empty() ? std::vector<bool>(nodes, true)
                                          : marked(fault_nodes(scenario.cluster, spec.nodes));
      fault.sides[1] = std::vector<bool>(nodes, true);
    }
    about_messages_ = about_messages_ || is_about_messages(spec.kind);
    faults_.push_back(std::move(fault));
  }
}

bool LinkFaults::Fault::touches(NodeId a, NodeId b) const {
  if (everywhere() && ((sides[0][a] && sides[1][b]) || (sides[0][b] && sides[1][a]))) return true;
  return active[a] > 0 || active[b] > 0;
}

void LinkFaults::begin(std::size_t table, std::optional<NodeId> node) {
  std::vector<int>& active = faults_[table].active;
  ++active[node.value_or(static_cast<NodeId>(active.size() - 1))];
  ++active_;
}

void LinkFaults::end(std::size_t table, std::optional<NodeId> node) {
  std::vector<int>& active = faults_[table].active;
  int& times = active[node.value_or(static_cast<NodeId>(active.size() - 1))];
  if (PSIM_PROBE(times == 0, "a partition ends that was healed before")) return;
  --times;
  --active_;
}

void LinkFaults::end_all(std::string_view kind) {
  for (Fault& fault : faults_) {
    if (fault.spec.kind->name != kind) continue;
    active_ -= static_cast<std::size_t>(fault.active.back());
    fault.active.back() = 0;
  }
}

bool LinkFaults::cut(NodeId from, NodeId to) {
  bool is_cut = false;
  if (active_ == 0) return false;
  for (Fault& fault : faults_) {
    if (!fault.spec.kind->cuts || !fault.touches(from, to)) continue;
    fault.has_met_any = is_cut = true;
  }
  return is_cut;
}

MessageFate LinkFaults::fate(const Message& message) {
  MessageFate fate;
  if (!about_messages_) return fate;
  const std::uint64_t number = sent_[{message.from, message.to}]++;
  if (active_ == 0) return fate;
  for (std::size_t table = 0; table < faults_.size(); ++table) {
    Fault& fault = faults_[table];
    const FaultSpec& spec = fault.spec;
    if (spec.kind->meet == nullptr || !fault.touches(message.from, message.to)) continue;
    const std::string_view kind = name_of(kind_of(message));
    if (!spec.messages.empty() && std::ranges::find(spec.messages, kind) == spec.messages.end()) continue;
    Stream stream(seed_, "message fault", combine(combine(table, message.from), message.to), number);
    if (stream.uniform() >= spec.probability) continue;
    fault.has_met_any = true;
    spec.kind->meet(fate, spec, stream);
  }
  return fate;
}

}  // namespace psim
