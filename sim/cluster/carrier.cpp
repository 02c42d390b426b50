#include "sim/cluster/carrier.hpp"

#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <xbt/config.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/paths.hpp"
#include "sim/cluster/simgrid_version.hpp"
#include "sim/cluster/stations.hpp"
#include "sim/cluster/turns.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace sg4 = simgrid::s4u;
namespace kernel = simgrid::kernel;

namespace psim {

// In-network sums. Between the workers of a rack and a server, the rack's aggregator combines their pushes
// into one, and copies one answer of a server to all of them.
//
// Decisions:
// - An aggregator is a part of the wire: a carrier that uses another carrier for its legs. Every message
//   keeps its sender and receiver, so the protocol and the record do not change. The server gets the pushes
//   of a rack at once and adds them in worker order, as always. So the weights equal those of a run without
//   aggregators, bit for bit.
// - Each worker's push of a clock goes to the aggregator of its rack. When the pushes of all workers of the
//   rack are there, one message of their size goes on to the server. So all workers must push in every clock,
//   and no message may be lost.
// - Answers with values that leave a server at the same date, for the same shard, to the same rack, go to the
//   rack's aggregator as one message, and from there to each worker.
// - A node stores: it forwards a message when it has all of it. A switch streams: it forwards each packet
//   when it has this packet of all workers. So a sum starts at the first byte of the last push. It reaches
//   the server when its own last byte arrives, or the last byte of the last push, whichever is later. Copies
//   of an answer follow the same rule. A packet takes no time of its own.
// - A server still handles each push separately: its work for a push (flops_per_value, endpoints) does not
//   change.
// - An aggregator adds at the rate of its link: its arithmetic takes no time. An aggregator in a switch has
//   no separate link.
class AggregatingCarrier final : public Carrier {
 public:
  AggregatingCarrier(const Scenario& scenario, std::unique_ptr<Carrier> legs, Agenda& agenda);

  void start(std::span<const Cargo> cargos) override;
  void cancel(std::uint32_t slot) override;
  double latency(NodeId from, NodeId to) override { return legs_->latency(from, to); }
  void set_bandwidth(NodeId node, double factor) override { legs_->set_bandwidth(node, factor); }
  void stop() override { legs_->stop(); }
  SumTraffic traffic() const override { return traffic_; }

 private:
  // Messages with one key are combined: the server, the shard, the number of the push or answer, and the
  // rack.
  using Key = std::tuple<NodeId, std::uint32_t, std::int64_t, std::uint32_t>;  // see above
  // Each push has a near leg, from its worker to the aggregator; then the common leg leads to the server. An
  // answer has the common leg first, and then a near leg for each worker.
  struct Sum {
    Key key;
    NodeId server, aggregator;
    bool is_push;
    std::vector<Cargo> parts = {};
    std::uint64_t bytes = 0;  // of the largest part
    // Pushes: when the first byte of each is at the aggregator. An answer: when it left the server.
    double begun = 0;
    bool goes_on = false;              // messages have started to leave the aggregator
    bool is_carried = false;           // the common leg has ended
    std::optional<double> whole = {};  // when the aggregator had all of each push, or of the answer
    std::size_t near = 0;              // near legs that have ended, or whose answers have arrived
    std::vector<Cargo> early = {};     // answers whose near leg has ended before the common leg
  };
  using Number = std::uint64_t;
  bool is_worker(NodeId node) const;
  bool has_all(const Sum& sum) const;
  void on_leg(std::uint32_t leg);
  void push(const Cargo& cargo);
  void answer(const Cargo& cargo);
  void go_on(Number number);
  void end_near_leg(Number number, std::uint32_t slot);
  void end_common_leg(Number number);
  void deliver_pushes(Number number);
  void deliver_answer(Number number, const Cargo& part);
  void start_near(Number number, const Cargo& part);
  void start_common(Number number);
  void at(double date, const std::function<void()>& action);
  double near_latency(const Sum& sum, const Cargo& part);

  const Scenario& scenario_;
  std::unique_ptr<Carrier> legs_;
  Agenda& agenda_;
  std::vector<std::uint32_t> workers_of_rack_;
  bool streams_;
  Number next_ = 0;
  std::map<Number, Sum> sums_;              // on their way
  std::map<Key, Number> pushes_;            // sums that wait for a push
  std::map<Key, Number> answers_;           // the newest answer of each key, until the aggregator has it
  std::map<std::uint32_t, Number> sum_of_;  // by leg
  SumTraffic traffic_;
};

namespace {

// Legs use slot numbers of the lower carrier. A direct message has one leg. A sum has a near leg for each of
// its messages, and a common leg, which uses the slot of one of the messages.
std::uint32_t near_leg(std::uint32_t slot) { return 2 * slot; }
std::uint32_t common_leg(std::uint32_t slot) { return 2 * slot + 1; }
std::uint32_t slot_of(std::uint32_t leg) { return leg / 2; }

}  // namespace

AggregatingCarrier::AggregatingCarrier(const Scenario& scenario, std::unique_ptr<Carrier> legs,
                                       Agenda& agenda)
    : scenario_(scenario),
      legs_(std::move(legs)),
      agenda_(agenda),
      workers_of_rack_(aggregator_count(scenario.cluster)),
      streams_(scenario.cluster.network.aggregate == AggregateAt::switches) {
  const auto first = static_cast<NodeId>(1 + scenario.cluster.servers);
  for (NodeId node = first; node < first + static_cast<NodeId>(scenario.cluster.workers); ++node)
    ++workers_of_rack_[rack_of(scenario.cluster, node)];
  legs_->on_arrival([this](std::uint32_t leg) { on_leg(leg); });
}

void AggregatingCarrier::start(std::span<const Cargo> cargos) {
  for (const Cargo& cargo : cargos) {
    if (cargo.what.kind == Summable::Kind::push) {
      push(cargo);
    } else if (cargo.what.kind == Summable::Kind::answer && is_worker(cargo.to)) {
      answer(cargo);
    } else {
      Cargo straight = cargo;
      straight.slot = near_leg(cargo.slot);
      legs_->start({&straight, 1});
    }
  }
}

void AggregatingCarrier::cancel(std::uint32_t slot) { legs_->cancel(near_leg(slot)); }

bool AggregatingCarrier::is_worker(NodeId node) const {
  const auto first = static_cast<NodeId>(1 + scenario_.cluster.servers);
  return node >= first && node < first + static_cast<NodeId>(scenario_.cluster.workers);
}

bool AggregatingCarrier::has_all(const Sum& sum) const {
  return sum.parts.size() >= workers_of_rack_[std::get<3>(sum.key)];
}

double AggregatingCarrier::near_latency(const Sum& sum, const Cargo& part) {
  return sum.is_push ? legs_->latency(part.from, sum.aggregator) : legs_->latency(sum.aggregator, part.to);
}

// Does the action now if its date has come, otherwise at its date. It may be called from the report of a
// flow.
void AggregatingCarrier::at(double date, const std::function<void()>& action) {
  if (date > Agenda::now()) agenda_.at(date, action);
  else action();
}

// Another node may send while a flow starts, so callers change all state before they start a flow.
void AggregatingCarrier::start_near(Number number, const Cargo& part) {
  const Sum& sum = sums_.at(number);
  const Cargo leg{.slot = near_leg(part.slot),
                  .from = sum.is_push ? part.from : sum.aggregator,
                  .to = sum.is_push ? sum.aggregator : part.to,
                  .bytes = part.bytes};
  sum_of_[leg.slot] = number;
  legs_->start({&leg, 1});
}

void AggregatingCarrier::start_common(Number number) {
  const Sum& sum = sums_.at(number);
  const Cargo leg{.slot = common_leg(sum.parts.front().slot),
                  .from = sum.is_push ? sum.aggregator : sum.server,
                  .to = sum.is_push ? sum.server : sum.aggregator,
                  .bytes = sum.bytes};
  sum_of_[leg.slot] = number;
  legs_->start({&leg, 1});
}

void AggregatingCarrier::push(const Cargo& cargo) {
  const std::uint32_t rack = rack_of(scenario_.cluster, cargo.from);
  const Key key{cargo.to, cargo.what.shard, cargo.what.number, rack};
  traffic_.pushes += 1;
  traffic_.push_bytes += cargo.bytes;
  const auto [found, is_new] = pushes_.try_emplace(key, next_);
  const Number number = found->second;
  if (is_new)
    sums_.emplace(next_++, Sum{.key = key,
                               .server = cargo.to,
                               .aggregator = node_count(scenario_.cluster) + rack,
                               .is_push = true});
  Sum& sum = sums_.at(number);
  sum.parts.push_back(cargo);
  sum.bytes = std::max(sum.bytes, cargo.bytes);
  sum.begun = std::max(sum.begun, Agenda::now() + near_latency(sum, cargo));
  const bool is_last = has_all(sum);
  if (is_last) {
    pushes_.erase(found);
    std::ranges::sort(sum.parts, {}, &Cargo::from);  // in worker order
  }
  const double begun = sum.begun;
  start_near(number, cargo);
  if (is_last && streams_) agenda_.at(begun, [this, number] { go_on(number); });
}

// An answer that leaves at the same date as another answer of its key joins it.
void AggregatingCarrier::answer(const Cargo& cargo) {
  const std::uint32_t rack = rack_of(scenario_.cluster, cargo.to);
  const Key key{cargo.from, cargo.what.shard, cargo.what.number, rack};
  traffic_.answers += 1;
  traffic_.answer_bytes += cargo.bytes;
  const auto last = answers_.find(key);
  if (last != answers_.end()) {
    Sum& sum = sums_.at(last->second);
    if (sum.begun == Agenda::now()) {
      sum.parts.push_back(cargo);
      if (sum.goes_on) start_near(last->second, cargo);
      return;
    }
  }
  const Number number = next_++;
  const NodeId aggregator = node_count(scenario_.cluster) + rack;
  answers_[key] = number;
  sums_.emplace(number, Sum{.key = key,
                            .server = cargo.from,
                            .aggregator = aggregator,
                            .is_push = false,
                            .parts = {cargo},
                            .bytes = cargo.bytes,
                            .begun = Agenda::now()});
  traffic_.copied += 1;
  traffic_.copied_bytes += cargo.bytes;
  const double here = Agenda::now() + legs_->latency(cargo.from, aggregator);
  start_common(number);
  if (streams_) agenda_.at(here, [this, number] { go_on(number); });
}

void AggregatingCarrier::go_on(Number number) {
  Sum& sum = sums_.at(number);
  sum.goes_on = true;
  if (sum.is_push) {
    traffic_.sums += 1;
    traffic_.sum_bytes += sum.bytes;
    start_common(number);
  } else {
    for (const Cargo& part : std::vector<Cargo>(sum.parts)) start_near(number, part);
  }
}

// No flow may begin while the carrier reports another flow.
void AggregatingCarrier::on_leg(std::uint32_t leg) {
  const auto found = sum_of_.find(leg);
  if (found == sum_of_.end()) return arrived_(slot_of(leg));
  const Number number = found->second;
  sum_of_.erase(found);
  if (leg == near_leg(slot_of(leg))) end_near_leg(number, slot_of(leg));
  else end_common_leg(number);
}

void AggregatingCarrier::end_near_leg(Number number, std::uint32_t slot) {
  Sum& sum = sums_.at(number);
  if (!sum.is_push) {
    const Cargo part = *std::ranges::find(sum.parts, slot, &Cargo::slot);
    if (sum.whole) deliver_answer(number, part);
    else sum.early.push_back(part);
    return;
  }
  if (++sum.near < sum.parts.size() || !has_all(sum)) return;
  sum.whole = Agenda::now();
  if (streams_) deliver_pushes(number);
  else agenda_.at(Agenda::now(), [this, number] { go_on(number); });
}

void AggregatingCarrier::end_common_leg(Number number) {
  Sum& sum = sums_.at(number);
  sum.is_carried = true;
  if (sum.is_push) return deliver_pushes(number);
  sum.whole = Agenda::now();
  if (const auto newest = answers_.find(sum.key); newest != answers_.end() && newest->second == number)
    answers_.erase(newest);
  if (!streams_) agenda_.at(Agenda::now(), [this, number] { go_on(number); });
  for (const Cargo& part : std::exchange(sum.early, {})) deliver_answer(number, part);
}

void AggregatingCarrier::deliver_pushes(Number number) {
  const Sum& sum = sums_.at(number);
  if (!sum.whole || !sum.is_carried) return;
  const double date = streams_ ? *sum.whole + legs_->latency(sum.aggregator, sum.server) : 0;
  at(date, [this, number] {
    const Sum whole = std::move(sums_.extract(number).mapped());
    for (const Cargo& part : whole.parts) arrived_(part.slot);
  });
}

void AggregatingCarrier::deliver_answer(Number number, const Cargo& part) {
  Sum& sum = sums_.at(number);
  const double date = streams_ ? *sum.whole + near_latency(sum, part) : 0;
  if (++sum.near == sum.parts.size()) sums_.erase(number);
  at(date, [this, slot = part.slot] { arrived_(slot); });
}

// Messages in segments through the queues of NICs and switches (stations.hpp). A segment costs O(log n), for
// any number of senders, and only open messages have state.
//
// Decisions:
// - As in SimGrid's flow models, a message first pays the latency of its route, and uses no bandwidth during
//   this time.
// - So a node's action reaches a station only after the least latency of all routes. The stations can run
//   ahead of the clock by this latency. Immediate changes, such as a cancelled message or a new bandwidth,
//   take effect there up to this latency later.
// - A message of a stream uses bandwidth at once. In runs with streams the stations are never ahead of the
//   clock.
class NicCarrier final : public Carrier {
 public:
  NicCarrier(const Scenario& scenario, Agenda& agenda);

  void start(std::span<const Cargo> cargos) override;
  void cancel(std::uint32_t slot) override;
  double latency(NodeId from, NodeId to) override;
  void set_bandwidth(NodeId node, double factor) override;
  void stop() override { stopped_ = true; }

 private:
  void enter(const Cargo& cargo);
  void wake_in_time();
  void work();

  const Scenario& scenario_;
  Agenda& agenda_;
  FlowModel model_;
  Wiring wiring_;
  double ahead_;  // seconds
  Turns turns_;
  PortQueues queues_;
  Stations stations_;
  struct Arrival {
    double date;
    std::uint32_t slot;
    std::uint64_t number;
  };
  std::deque<Arrival> arrivals_;        // rising
  std::vector<std::uint64_t> numbers_;  // by slot: number of the cargo; 0: none
  std::uint64_t next_number_ = 0;
  double wakes_;  // the date of the valid entry in the agenda
  bool stopped_ = false;
};

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

}  // namespace

NicCarrier::NicCarrier(const Scenario& scenario, Agenda& agenda)
    : scenario_(scenario),
      agenda_(agenda),
      model_(flow_model(scenario.cluster.network)),
      wiring_(scenario.cluster.network, make_topology(scenario.cluster)),
      // Slightly less, because the latencies are rounded.
      ahead_(scenario.messages.order != SendOrder::parallel
                 ? 0
                 : 0.999 * model_.latency * wiring_.least_latency()),
      turns_(scenario),
      queues_(scenario.cluster),
      stations_(scaled(wiring_.bandwidths(), model_.bandwidth),
                static_cast<unsigned>(scenario.cluster.network.segments),
                [this](std::uint32_t slot, double date) {
                  arrivals_.push_back({date, slot, numbers_[slot]});
                }),
      wakes_(never) {}

void NicCarrier::start(std::span<const Cargo> cargos) {
  for (const Cargo& cargo : cargos) enter(cargo);
  wake_in_time();
}

void NicCarrier::enter(const Cargo& cargo) {
  const NetworkSpec& network = scenario_.cluster.network;
  const std::uint32_t from = host_of(scenario_.cluster, cargo.from),
                      to = host_of(scenario_.cluster, cargo.to);
  const Wiring::Way way = wiring_.way(from, to);
  const double latency = way.latency;
  const bool has_turns = latency > 0;
  double first_turn = 0;
  Stations::Load load{.bytes = static_cast<double>(cargo.bytes),
                      .weight = share_weight(network, latency, way.slowness),
                      .limit = way.limit * model_.bandwidth,
                      .path = way.stations};
  if (has_turns) {
    const double port = way.stations.empty() ? 0 : wiring_.bandwidths()[way.stations.front()];
    const Turns::Share share = turns_.next(cargo, Agenda::now(), model_.bandwidth * port);
    first_turn = share.wait;
    load.last_turn = static_cast<double>(share.last_turn);
    load.weight *= share.weight;
    load.step = turns_.step(cargo.bytes);
  }
  if (model_.window > 0 && latency > 0) {
    const double limit = model_.bandwidth * model_.window / (2 * latency);
    load.limit = load.limit > 0 ? std::min(load.limit, limit) : limit;
  }
  if (network.cross_traffic) load.back = wiring_.way(to, from).stations;
  if (cargo.slot >= numbers_.size()) numbers_.resize(cargo.slot + std::size_t{1});
  numbers_[cargo.slot] = ++next_number_;
  const double queue = queues_.begin(cargo, Agenda::now(), [&] {
    return has_turns && !way.stations.empty() ? model_.bandwidth * wiring_.bandwidths()[way.stations.back()]
                                              : 0;
  });
  const double wait = cargo.streamed ? 0 : model_.latency * latency;
  stations_.enter(cargo.slot, Agenda::now() + wait + queue + first_turn, load);
}

double NicCarrier::latency(NodeId from, NodeId to) {
  return model_.latency *
         wiring_.way(host_of(scenario_.cluster, from), host_of(scenario_.cluster, to)).latency;
}

void NicCarrier::cancel(std::uint32_t slot) {
  queues_.end(slot);
  stations_.cancel(slot, Agenda::now());  // it may still arrive at this date; the number below prevents that
  numbers_[slot] = 0;
  wake_in_time();
}

void NicCarrier::set_bandwidth(NodeId node, double factor) {
  for (const std::uint32_t station : wiring_.own(host_of(scenario_.cluster, node)))
    stations_.set_bandwidth(station, factor * model_.bandwidth * wiring_.bandwidths()[station],
                            Agenda::now());
  wake_in_time();
}

void NicCarrier::wake_in_time() {
  double date = stations_.next();
  if (!arrivals_.empty()) date = std::min(date, arrivals_.front().date);
  if (!(date < wakes_)) return;
  wakes_ = date;
  agenda_.at(date, [this, date] {
    if (wakes_ == date) work();
  });
}

void NicCarrier::work() {
  const double now = Agenda::now();
  wakes_ = never;
  if (stopped_) return;
  if (stations_.next() <= now) stations_.advance(now + ahead_);
  while (!arrivals_.empty() && arrivals_.front().date <= now) {
    const Arrival arrival = arrivals_.front();
    arrivals_.pop_front();
    if (numbers_[arrival.slot] != arrival.number) continue;  // cancelled
    numbers_[arrival.slot] = 0;
    queues_.end(arrival.slot);
    arrived_(arrival.slot);
  }
  wake_in_time();
}

// Messages as flows of SimGrid. Flows share every link max-min fairly, by weight. Exact, and O(flows) for
// each start or end of a flow.
//
// A transfer is a detached Comm::sendto_init between hosts. The link's communication callback reports its end
// at the exact date. The solver: network/optim:Lazy of SimGrid 3.32 can forget a link when several flows
// begin to share it at one date, as they do after a barrier. So psim sets network/optim:Full
// (tests/oracles/network_test.cpp).
//
// Decisions:
// - Weights. SimGrid shares a link in proportion to 1 / latency. So a flow of weight w has the share
//   own_latency / w of its route's latency, and psim's agenda waits for the rest before it starts the flow. A
//   message's last turn (turns.hpp) is a separate flow, which begins when the rest has arrived. A flow must
//   not begin while SimGrid reports the end of another flow, because SimGrid would advance it by the time
//   since its last step. So the agenda starts last turns, at the same date.
// - Streams. A message of a stream does not wait for its latency. A flow that is suspended and resumed takes
//   bandwidth at once, because Full does not check whether the latency is over
//   (tests/oracles/network_test.cpp). So the next message of a stream takes over the bandwidth of the
//   previous message at the date when that message has left. Until its own latency is over, SimGrid gives it
//   the weight 1.
// - Changes of bandwidth. If SimGrid's weights depend on the bandwidth of links (lv08), each change makes
//   every flow of the link take bandwidth at once, even if its own latency is not over; suspended flows do
//   not. So psim suspends a flow during its own latency, and resumes it afterwards. A resumed flow has weight
//   1, so psim suspends none where it gives flows their weights (share_spread).
// - Acknowledgements load the opposite direction as a separate flow, and no node waits for it. With SimGrid's
//   network/crosstraffic, one flow crosses both directions. Its speed is then limited by its share of the
//   opposite direction, although it needs only a twentieth of this share: pulls would wait for pushes.
class FluidCarrier final : public Carrier {
 public:
  FluidCarrier(const Scenario& scenario, const Platform& platform, Agenda& agenda);

  void start(std::span<const Cargo> cargos) override;
  void cancel(std::uint32_t slot) override;
  double latency(NodeId from, NodeId to) override;
  void set_bandwidth(NodeId node, double factor) override;
  void stop() override { slots_.clear(); }

 private:
  struct Node {
    simgrid::s4u::Host* host;
    std::vector<std::pair<simgrid::s4u::Link*, double>> links;  // the node's own links, and their bandwidth
    double bandwidth = 1;                                       // remaining share of the bandwidth
  };
  // The message on its way in a slot.
  struct Voyage {
    Cargo cargo = {};
    double weight = 1;                                 // until the last turn
    std::uint64_t rest = 0, last_turn = 0;             // bytes that have not begun
    Agenda::Ticket begins = {};                        // of its next flow
    simgrid::s4u::CommPtr flow = nullptr;              // null until it begins
    double flows_from = 0;                             // the date of the end of its own latency
    simgrid::s4u::CommPtr acknowledgements = nullptr;  // while they are on their way
  };
  struct Flow {
    std::uint32_t slot = 0;
    bool acknowledges = false;
  };
  void plan(double date, std::uint32_t slot);
  void begin(std::uint32_t slot);
  void hold(const Voyage& voyage);
  simgrid::s4u::CommPtr flow(NodeId from, NodeId to, std::uint64_t bytes, double weight, bool streamed,
                             const Flow& what);
  void scale_latency(double factor);
  void start_acknowledgements(Voyage& voyage);
  void forget_acknowledgements(Voyage& voyage);
  static void scale_links(const Node& node, double factor);

  std::vector<Node> nodes_;
  Agenda& agenda_;
  RouteTable* routes_;
  Turns turns_;
  PortQueues queues_;
  double window_, latency_factor_ = 1;  // window_: in SimGrid's units; 0: no limit
  double second_;                       // of delay for one unit of a route's latency in SimGrid
  bool acknowledges_, holds_;
  std::vector<Voyage> voyages_;                  // by slot
  std::unordered_map<const void*, Flow> slots_;  // by activity; unordered is safe: only looked up
};

FluidCarrier::FluidCarrier(const Scenario& scenario, const Platform& platform, Agenda& agenda)
    : agenda_(agenda),
      routes_(platform.routes),
      turns_(scenario),
      queues_(scenario.cluster),
      window_(latency_unit(scenario.cluster.network) * flow_model(scenario.cluster.network).window),
      second_(flow_model(scenario.cluster.network).latency / latency_unit(scenario.cluster.network)),
      acknowledges_(scenario.cluster.network.cross_traffic),
      holds_(flow_model(scenario.cluster.network).weight > 0) {
  for (std::size_t node = 0; node < platform.hosts.size(); ++node) {
    nodes_.push_back({.host = platform.hosts[node], .links = {}});
    for (sg4::Link* link : platform.own_links[node])
      nodes_.back().links.emplace_back(link, link->get_bandwidth());
  }
  sg4::Link::on_communication_state_change_cb(
      [this](kernel::resource::NetworkAction& network_action, kernel::resource::Action::State) {
        // NetworkAction is incomplete in the installed headers; Action is its first base
        // (tests/oracles/network_test.cpp).
        auto& action = reinterpret_cast<kernel::resource::Action&>(network_action);
        const auto found = slots_.find(action.get_activity());
        if (found == slots_.end()) return;  // reported once per link of the route; the first is enough
        if (action.get_state() != kernel::resource::Action::State::FINISHED) return;
        const auto [slot, acknowledges] = found->second;
        slots_.erase(found);
        Voyage& voyage = voyages_[slot];
        if (acknowledges) return voyage.acknowledgements.reset();
        const sg4::CommPtr ended = std::move(voyage.flow);
        if (voyage.last_turn > 0) return plan(Agenda::now(), slot);
        forget_acknowledgements(voyage);
        queues_.end(slot);
        arrived_(slot);
      });
}

void FluidCarrier::start(std::span<const Cargo> cargos) {
  for (const Cargo& cargo : cargos) {
    if (cargo.slot >= voyages_.size()) voyages_.resize(cargo.slot + std::size_t{1});
    sg4::Host *from = nodes_[cargo.from].host, *to = nodes_[cargo.to].host;
    const auto [last_turn, weight, first_turn] =
        turns_.next(cargo, Agenda::now(), routes_->port_bandwidth(to, from));
    voyages_[cargo.slot] = {
        .cargo = cargo, .weight = weight, .rest = cargo.bytes - last_turn, .last_turn = last_turn};
    // What SimGrid counts later: the latency of the first flow, and that of the last turn.
    const double flows = last_turn > 0 ? 1 + 1 / last_turn_gain : 1;
    const double wait =
        cargo.streamed ? 0 : latency(cargo.from, cargo.to) * std::max(0.0, 1 - own_latency * flows / weight);
    const double queue =
        queues_.begin(cargo, Agenda::now(), [&] { return routes_->port_bandwidth(from, to); });
    plan(Agenda::now() + wait + queue + first_turn, cargo.slot);
  }
}

void FluidCarrier::plan(double date, std::uint32_t slot) {
  voyages_[slot].begins = agenda_.at(date, [this, slot] { begin(slot); });
}

// SimGrid bounds a flow permanently by the bandwidth of its links at its start. So a degraded link gets its
// full bandwidth for this moment. Otherwise the flow would stay slow after the link recovers.
void FluidCarrier::begin(std::uint32_t slot) {
  Voyage& voyage = voyages_[slot];
  const Cargo& cargo = voyage.cargo;
  const bool is_first = voyage.rest > 0 || voyage.last_turn == 0;
  if (is_first && acknowledges_) start_acknowledgements(voyage);
  for (const NodeId end : {cargo.from, cargo.to}) {
    if (nodes_[end].bandwidth < 1) scale_links(nodes_[end], 1);
  }
  const double weight = is_first ? voyage.weight : last_turn_gain * voyage.weight;
  voyage.flow = flow(cargo.from, cargo.to, std::exchange(is_first ? voyage.rest : voyage.last_turn, 0),
                     weight, cargo.streamed, {.slot = slot, .acknowledges = false});
  voyage.flows_from =
      Agenda::now() + (cargo.streamed ? 0 : own_latency / weight * latency(cargo.from, cargo.to));
  if (nodes_[cargo.from].bandwidth < 1 || nodes_[cargo.to].bandwidth < 1) hold(voyage);
  for (const NodeId end : {cargo.from, cargo.to}) {
    if (nodes_[end].bandwidth < 1) scale_links(nodes_[end], nodes_[end].bandwidth);
  }
}

sg4::CommPtr FluidCarrier::flow(NodeId from, NodeId to, std::uint64_t bytes, double weight, bool streamed,
                                const Flow& what) {
  sg4::Host *source = nodes_[from].host, *target = nodes_[to].host;
  scale_latency(own_latency / weight);
  sg4::CommPtr comm = sg4::Comm::sendto_init(source, target);
  comm->set_payload_size(bytes);
  comm->detach();
  if (streamed && routes_->latency(source, target) > 0) {
    comm->suspend();
    comm->resume();
  }
  slots_[comm->get_impl()] = what;
  return comm;
}

// SimGrid gives a flow one window per round trip of its own latency, so the window scales with the latency.
void FluidCarrier::scale_latency(double factor) {
  if (factor == std::exchange(latency_factor_, factor)) return;
  routes_->scale_latency(factor);
  if (window_ > 0) simgrid::config::set_value<double>("network/TCP-gamma", window_ * factor);
}

void FluidCarrier::start_acknowledgements(Voyage& voyage) {
  const Cargo& cargo = voyage.cargo;
  const auto bytes = static_cast<std::uint64_t>(share_of_acknowledgements * static_cast<double>(cargo.bytes));
  voyage.acknowledgements =
      flow(cargo.to, cargo.from, bytes, 1, false, {.slot = cargo.slot, .acknowledges = true});
}

void FluidCarrier::forget_acknowledgements(Voyage& voyage) {
  if (voyage.acknowledgements == nullptr) return;
  slots_.erase(voyage.acknowledgements->get_impl());
  voyage.acknowledgements.reset();
}

void FluidCarrier::cancel(std::uint32_t slot) {
  Voyage& voyage = voyages_[slot];
  queues_.end(slot);
  agenda_.cancel(voyage.begins);
  if (voyage.flow != nullptr) {
    slots_.erase(voyage.flow->get_impl());
    voyage.flow->cancel();
  }
  if (voyage.acknowledgements != nullptr) voyage.acknowledgements->cancel();
  forget_acknowledgements(voyage);
}

double FluidCarrier::latency(NodeId from, NodeId to) {
  return second_ * routes_->latency(nodes_[from].host, nodes_[to].host);
}

void FluidCarrier::scale_links(const Node& node, double factor) {
  for (const auto& [link, bandwidth] : node.links) link->set_bandwidth(factor * bandwidth);
}

void FluidCarrier::hold(const Voyage& voyage) {
  if (!holds_ || !(voyage.flows_from > Agenda::now())) return;
  voyage.flow->suspend();
  agenda_.at(voyage.flows_from, [flow = voyage.flow] { flow->resume(); });
}

void FluidCarrier::set_bandwidth(NodeId node, double factor) {
  const auto crosses = [this, host = nodes_[node].host](const Cargo& cargo) {
    return nodes_[cargo.from].host == host || nodes_[cargo.to].host == host;
  };
  for (const Voyage& voyage : voyages_) {
    if (voyage.flow != nullptr && crosses(voyage.cargo)) hold(voyage);
  }
  nodes_[node].bandwidth = factor;
  scale_links(nodes_[node], factor);
}

Summable summable(const Message& message) {
  if (const Push* push = message.as<Push>())
    return {.kind = Summable::Kind::push, .shard = message.shard, .number = push->number};
  const Answer* answer = message.as<Answer>();
  if (answer == nullptr || answer->weights.values.count == 0) return {};
  return {.kind = Summable::Kind::answer, .shard = message.shard, .number = answer->version};
}

std::unique_ptr<Carrier> make_carrier(const Scenario& scenario, const Platform& platform, Agenda& agenda) {
  std::unique_ptr<Carrier> carrier;
  if (scenario.cluster.network.model == NetworkModel::nic)
    carrier = std::make_unique<NicCarrier>(scenario, agenda);
  else carrier = std::make_unique<FluidCarrier>(scenario, platform, agenda);
  if (aggregator_count(scenario.cluster) == 0) return carrier;
  return std::make_unique<AggregatingCarrier>(scenario, std::move(carrier), agenda);
}

}  // namespace psim
