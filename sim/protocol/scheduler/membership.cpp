#include "sim/protocol/scheduler/membership.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "model/numerics/functions.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {

Membership::Membership(Rules rules, const KeySpace& keys)
    : rules_(std::move(rules)),
      nodes_(1 + rules_.servers + rules_.workers, Node{.detector = FailureDetector(rules_.detector)}),
      plan_(std::make_shared<const Layout>(keys)),
      loads_(keys.shards.size()) {
  view_.workers.assign(rules_.workers, true);
  for (const Shard& shard : keys.shards) {
    view_.owners.push_back({.primary = 1 + shard.server});
    given_.push_back(1 + shard.server);
  }
  for (const NodeId node : rules_.absent) {
    nodes_[node].up = false;
    nodes_[node].left = true;
    if (!is_server(node)) view_.workers[node - 1 - rules_.servers] = false;
  }
  settle();
}

// Starts a new epoch, `with_help` of the last primary if that is still alive. Earlier primaries are kept,
// because the last one may not have received the shard from them. A primary that leads when its successor is
// ready has received the shard.
void Membership::move(Owner& owner, NodeId to, bool with_help) const {
  expects(is_server(to), "only servers own shards");
  const bool leads = with_help && owner.next == to;
  PSIM_PROBE(!leads && !owner.from.empty(), "a takeover begins during a takeover");
  if (PSIM_PROBE(leads, "a shard moves as planned")) owner.from.clear();
  std::erase(owner.from, owner.primary);
  if (with_help) owner.from.insert(owner.from.begin(), owner.primary);
  std::erase(owner.from, to);
  owner.next = 0;
  owner.primary = to;
  owner.epoch = std::max(owner.epoch + 1, least_epoch_);
}

const Shard& Membership::shard_at(std::size_t number) const {
  return (view_.layout ? view_.layout : plan_)->keys.shards[number];
}

// All servers except the shard's owner, in the order in which they would own it: the order of the ring, or of
// their numbers.
std::vector<NodeId> Membership::others(std::size_t shard) const {
  const NodeId owner = view_.owners[shard].primary;
  std::vector<NodeId> result;
  for (const std::uint32_t server : shard_at(shard).order) {
    if (1 + server != owner) result.push_back(1 + server);
  }
  if (!result.empty()) return result;
  for (std::uint32_t i = 0; i + 1 < rules_.servers; ++i) result.push_back((owner + i) % rules_.servers + 1);
  return result;
}

// Fills in the number of copies that the scenario asks for.
void Membership::fill(std::size_t shard) {
  Owner& owner = view_.owners[shard];
  std::erase(owner.replicas, owner.primary);
  for (const NodeId node : others(shard)) {
    if (std::ssize(owner.replicas) >= rules_.copies) return;
    const bool is_one = std::ranges::find(owner.replicas, node) != owner.replicas.end();
    if (nodes_[node].up && !is_one) owner.replicas.push_back(node);
  }
}

// The server that has the shard while that server is present.
std::optional<NodeId> Membership::home_of(std::size_t shard) const {
  if (rules_.rebalance == Rebalance::none) return std::nullopt;
  if (rules_.rebalance == Rebalance::load)
    return nodes_[given_[shard]].up ? std::optional(given_[shard]) : std::nullopt;
  const Shard& placed = shard_at(shard);
  for (const std::uint32_t server : placed.order) {
    if (nodes_[1 + server].up) return 1 + server;
  }
  return nodes_[1 + placed.server].up ? std::optional(1 + placed.server) : std::nullopt;
}

// The server that should own the shard. A server that is about to receive it already has most of it.
NodeId Membership::successor(std::size_t shard) const {
  const Owner& owner = view_.owners[shard];
  const std::optional<NodeId> home = home_of(shard);
  const bool next_is_up = owner.next != 0 && nodes_[owner.next].up;
  if (is_there(owner.primary) && home) return *home;
  if (nodes_[owner.primary].up) return owner.primary;
  if (nodes_[owner.primary].serving && next_is_up) return owner.next;
  if (PSIM_PROBE(!owner.replicas.empty(), "a replica takes over")) return owner.replicas.front();
  if (PSIM_PROBE(next_is_up, "a receiver takes over before it is ready")) return owner.next;
  const bool is_awaited = !rules_.takes_over && !nodes_[owner.primary].left;
  const bool is_placed_there = shard_at(shard).order.empty() || rules_.rebalance == Rebalance::load;
  if (home && (is_placed_there || !is_awaited)) return *home;
  if (PSIM_PROBE(is_awaited, "a shard waits for its crashed owner")) return owner.primary;
  return next_server(shard).value_or(owner.primary);
}

// After every change of the live nodes: sets each shard's replicas, and its next owner if it has to move. A
// shard that no node serves moves at once.
void Membership::settle() {
  for (std::size_t s = 0; s < view_.owners.size(); ++s) {
    Owner& owner = view_.owners[s];
    if (owner.primary == scheduler_node) continue;
    std::erase_if(owner.from, [&](NodeId node) { return !is_there(node); });
    std::erase_if(owner.replicas, [&](NodeId node) { return !nodes_[node].up; });
    const NodeId to = successor(s);
    const bool stays = to == owner.primary, is_served = is_there(owner.primary);
    PSIM_PROBE(owner.next != 0 && stays, "a hand-over is called off");
    PSIM_PROBE(owner.next != 0 && !stays && owner.next != to, "a hand-over changes its receiver");
    if (!stays && is_served && rules_.two_phase) owner.next = to;
    else if (stays) owner.next = 0;
    else move(owner, to, is_served);
    fill(s);
  }
}

std::optional<NodeId> Membership::next_server(std::size_t shard) const {
  const std::vector<NodeId> all = others(shard);
  const auto next = std::ranges::find_if(all, [this](NodeId node) { return nodes_[node].up; });
  return next == all.end() ? std::nullopt : std::optional(*next);
}

void Membership::carries(NodeId node, const ShardLoad& load) {
  if (is_server(node)) loads_.add(load);
}

// Without measured loads, shards count by their values. A shard that no server serves is not given away.
void Membership::share_load_with(NodeId joiner) {
  loads_.measure(now_);
  const bool is_measured = loads_.are_known();
  std::vector<LoadedShard> shards;
  std::vector<std::uint32_t> servers;
  for (std::size_t s = 0; s < view_.owners.size(); ++s) {
    const Owner& owner = view_.owners[s];
    given_[s] = owner.next != 0 ? owner.next : owner.primary;
    const std::size_t values = shard_at(s).count;
    shards.push_back({.server = is_there(owner.primary) ? given_[s] : scheduler_node,
                      .load = is_measured ? loads_.rate(s) : static_cast<double>(values),
                      .values = values});
  }
  for (NodeId node = 1; is_server(node); ++node) {
    if (nodes_[node].up) servers.push_back(node);
  }

  for (const Taken& taken : take_share(std::move(shards), servers, joiner)) {
    if (taken.at > 0) cut({taken.shard, taken.at});
    (taken.at > 0 ? given_.back() : given_[taken.shard]) = joiner;
  }
}

// Both parts begin an epoch with the present owner and replicas. The upper part begins with its next owner if
// it moves at once.
void Membership::cut(const Cut& cut) {
  auto layout = std::make_shared<Layout>((view_.layout ? view_.layout : plan_)->keys);
  expects(cut.at > 0 && cut.at < layout->keys.shards[cut.shard].count, "both parts of a cut have values");
  const double share =
      1 - static_cast<double>(cut.at) / static_cast<double>(layout->keys.shards[cut.shard].count);
  layout->keys.cut(cut);
  layout->places = layout->keys.places();
  view_.layout = std::move(layout);
  view_.cuts.push_back(cut);
  Owner upper = view_.owners[cut.shard];
  const auto begins_epoch = [this](Owner& owner) { owner.epoch = std::max(owner.epoch + 1, least_epoch_); };
  begins_epoch(view_.owners[cut.shard]);
  PSIM_PROBE(upper.next != 0, "a shard is cut while it moves");
  if (rules_.two_phase) begins_epoch(upper);
  view_.owners.push_back(std::move(upper));
  loads_.cut(cut.shard, share);
  given_.push_back(given_[cut.shard]);
}

void Membership::heard(NodeId node, std::uint32_t incarnation, double now) {
  if (node >= nodes_.size()) return;
  now_ = now;
  Node& known = nodes_[node];
  if (known.retired) return;
  const bool is_stranger = !known.known;  // all nodes are strangers for a scheduler that was down itself
  const bool is_new = known.known && incarnation != known.incarnation;
  if (known.known && incarnation < known.incarnation) return;
  if (known.known && known.left && !is_new) {  // it hands over its shards, even if it was silent for a while
    const bool owns = std::ranges::find(view_.owners, node, &Owner::primary) != view_.owners.end();
    known.serving = known.serving || owns;
    return known.detector.heard(now);
  }
  if (PSIM_PROBE(is_new && is_there(node), "a node was away for too short a time to be noticed")) down(node);
  known.known = true;
  known.incarnation = incarnation;
  known.left = false;
  if (is_new) known.detector = FailureDetector(rules_.detector);
  known.detector.heard(now);
  PSIM_PROBE(!known.up && !is_new && !is_stranger, "a suspected node is back and was only silent");
  if (!known.up) back(node, is_new || is_stranger);
}

void Membership::count_from(std::uint32_t lives) {
  constexpr std::uint32_t changes = 1U << 16U;  // more changes than a scheduler sees in its life
  least_epoch_ = lives * changes;
  view_.number = std::max<std::int64_t>(view_.number + 1, least_epoch_);
}

void Membership::begin_anew(std::uint32_t lives) {
  count_from(lives);
  for (Owner& owner : view_.owners) owner.epoch = std::max(owner.epoch, least_epoch_);
}

std::vector<NodeId> Membership::take_up(const View& view, const std::vector<NodeId>& strangers,
                                        std::uint32_t lives) {
  started_ = true;
  view_ = view;
  count_from(lives);
  loads_ = ShardLoads(view_.owners.size());
  given_.clear();
  for (const Owner& owner : view_.owners) given_.push_back(owner.next != 0 ? owner.next : owner.primary);
  std::vector<NodeId> lost, there;
  for (NodeId node = 1; node < nodes_.size(); ++node) {
    if (nodes_[node].retired) {
      view_.workers[node - 1 - rules_.servers] = false;
      continue;
    }
    const bool was_there = is_server(node) || view.workers[node - 1 - rules_.servers];
    nodes_[node].up = nodes_[node].known && !nodes_[node].left;
    if (nodes_[node].up) there.push_back(node);
    else if (was_there && !nodes_[node].serving) lost.push_back(node);
  }
  for (const NodeId node : strangers) down(node);  // it has lost its state
  PSIM_PROBE(!lost.empty(), "a node was lost while the scheduler was down");
  for (const NodeId node : lost) down(node);
  for (const NodeId node : strangers) back(node, true);
  for (const NodeId node : there) {
    if (!is_server(node)) view_.workers[node - 1 - rules_.servers] = true;
  }
  settle();
  std::erase_if(lost, [this](NodeId node) { return nodes_[node].left; });
  return lost;
}

void Membership::start(double now) {
  started_ = true;
  now_ = now;
  loads_.begin(now);
  for (Node& node : nodes_) {
    if (!node.known) continue;
    node.detector = FailureDetector(rules_.detector);
    node.detector.heard(now);
  }
}

void Membership::leaves(NodeId node) {
  Node& known = nodes_[node];
  known.left = true;
  if (!is_server(node)) return down(node);
  known.serving = known.known && is_there(node);
  known.up = false;
  ++view_.number;
  settle();
}

void Membership::retire(std::vector<NodeId> workers, std::uint32_t first_shard, std::uint32_t shards) {
  for (const NodeId node : workers) {
    Node& known = nodes_[node];
    known.retired = known.left = true;
    known.up = false;
    view_.workers[node - 1 - rules_.servers] = false;
  }
  for (std::uint32_t s = first_shard; s < first_shard + shards; ++s)
    view_.owners[s] = {.primary = scheduler_node, .epoch = view_.owners[s].epoch};
  ++view_.number;
}

void Membership::ready(std::uint32_t shard, NodeId node, std::uint32_t epoch) {
  Owner& owner = view_.owners[shard];
  if (PSIM_PROBE(owner.next != node || owner.epoch != epoch, "a receiver is ready too late")) return;
  move(owner, node, true);
  ++view_.number;
  settle();
}

// The scheduler watches a leaving node as long as the node has shards to hand over. Nodes that wait for the
// start send no heartbeats: until then the scheduler watches nodes that have not joined.
bool Membership::is_watched(NodeId node) const {
  const Node& known = nodes_[node];
  if (!started_) return !known.known && known.up;
  const auto needs = [node](const Owner& one) { return one.primary == node || one.was_primary(node); };
  return known.known && (known.up || (known.serving && std::ranges::any_of(view_.owners, needs)));
}

std::optional<double> Membership::next_suspicion() const {
  std::optional<double> first;
  for (NodeId node = 1; node < nodes_.size(); ++node) {
    if (!is_watched(node)) continue;
    const double date = nodes_[node].detector.suspect_at();
    first = std::min(first.value_or(date), date);
  }
  return first;
}

std::vector<NodeId> Membership::suspect(double now) {
  std::vector<NodeId> suspects;
  for (NodeId node = 1; node < nodes_.size(); ++node) {
    if (!is_watched(node) || nodes_[node].detector.suspect_at() > now) continue;
    suspects.push_back(node);
    down(node);
  }
  return suspects;
}

void Membership::down(NodeId node) {
  for (const Owner& one : view_.owners) {
    PSIM_PROBE(one.next == node, "the receiver of a hand-over crashes");
    PSIM_PROBE(one.primary == node && one.next != 0, "the giver of a hand-over crashes");
    PSIM_PROBE(one.primary != node && one.was_primary(node), "a former owner crashes");
  }
  nodes_[node].up = nodes_[node].serving = false;
  ++view_.number;
  if (!is_server(node) && (rules_.removes_workers || nodes_[node].left))
    view_.workers[node - 1 - rules_.servers] = false;
  settle();
}

// A node that was only silent still has its state; a node that was down has lost it. A leaving server that
// comes back only serves shards that no other server can have.
void Membership::back(NodeId node, bool is_new) {
  Node& known = nodes_[node];
  (known.left ? known.serving : known.up) = true;
  ++view_.number;
  if (!is_server(node)) {
    view_.workers[node - 1 - rules_.servers] = true;
    return;
  }
  for (Owner& owner : view_.owners) {
    std::erase(owner.from, node);
    if (PSIM_PROBE(owner.primary == node && is_new, "an owner is back without its shard"))
      move(owner, node, false);
  }
  if (rules_.rebalance == Rebalance::load && started_ && !known.left) share_load_with(node);
  settle();
}

void ShardLoads::add(const ShardLoad& load) {
  if (load.shard >= shards_.size()) return;
  Load& known = shards_[load.shard];
  if (load.epoch < known.epoch) return;
  if (load.epoch > known.epoch) known.told = 0;
  known.epoch = load.epoch;
  known.values += load.values - std::min(load.values, known.told);
  known.told = std::max(known.told, load.values);
}

void ShardLoads::measure(double now) {
  const auto has_values = [](const Load& load) { return load.values > 0; };
  if (!(now > since_) || std::ranges::none_of(shards_, has_values)) return;
  for (Load& load : shards_) load.rate = static_cast<double>(std::exchange(load.values, 0)) / (now - since_);
  since_ = now;
}

bool ShardLoads::are_known() const {
  return std::ranges::any_of(shards_, [](const Load& load) { return load.rate > 0; });
}

void ShardLoads::cut(std::size_t shard, double share) {
  Load above = shards_[shard];
  above.rate *= share;
  shards_[shard].rate -= above.rate;
  shards_.push_back(above);
}

namespace {

// The standard deviations from the mean gap to the silence with this phi.
double deviations_at(double threshold) {
  double low = 0, high = 40;
  for (int i = 0; i < 60; ++i) {
    const double z = (low + high) / 2;
    const double phi = -numerics::log10(0.5 * numerics::erfc(z / std::sqrt(2.0)));
    (phi < threshold ? low : high) = z;
  }
  return high;
}

}  // namespace

FailureDetector::FailureDetector(DetectorSpec spec)
    : spec_(spec),
      deviations_(spec.kind == DetectorKind::phi_accrual ? deviations_at(spec.threshold) : 0),
      suspect_at_(spec.timeout) {}

void FailureDetector::heard(double now) {
  expects(now >= last_, "time does not run backwards");
  constexpr std::size_t window = 100;  // gaps
  if (last_ > 0) gaps_.push_back(now - last_);
  if (gaps_.size() > window) gaps_.pop_front();
  last_ = now;
  suspect_at_ = now + longest_silence();
}

double FailureDetector::longest_silence() const {
  if (spec_.kind == DetectorKind::timeout || gaps_.size() < 2) return spec_.timeout;
  const auto n = static_cast<double>(gaps_.size());
  const double mean = std::accumulate(gaps_.begin(), gaps_.end(), 0.0) / n;
  double variance = 0;
  for (const double gap : gaps_) variance += (gap - mean) * (gap - mean) / n;
  // Equal gaps would lead to a suspicion at once, so their standard deviation counts as at least a tenth of
  // their mean.
  const double deviation = std::max(std::sqrt(variance), mean / 10);
  return mean + deviations_ * deviation;
}

}  // namespace psim
