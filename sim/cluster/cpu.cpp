#include "sim/cluster/cpu.hpp"

#include <algorithm>

#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

double speed_of(const ClusterSpec& cluster, std::uint32_t node) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  const std::uint32_t first_inference = first_inference_node(cluster);
  if (node > 0 && node <= servers) return cluster.server.speed.of(node - 1).value;
  if (node > servers && node <= servers + cluster.workers)
    return cluster.worker.speed.of(node - servers - 1).value;
  if (node >= first_inference && node < node_count(cluster))
    return cluster.inference.speed.of(node - first_inference).value;
  constexpr double of_others = 1e9;
  return of_others;
}

}  // namespace

void Cpu::set_factor(double factor) {
  factor_ = factor;
  is_frozen_ = false;
  adapt();
}

void Cpu::freeze() {
  PSIM_PROBE(!works_.empty(), "a machine freezes during a computation");
  is_frozen_ = true;
  adapt();
}

void Cpu::sleep_until(double date) {
  agenda_.sleep_until(date);
  wait_while_frozen();
}

void Cpu::wait_while_frozen() {
  if (PSIM_PROBE(is_frozen(), "a timer ends on a frozen machine")) sleep(0);
}

double Cpu::rate_of(Work::Kind kind) const {
  if (is_frozen()) return 0;
  return kind == Work::Kind::sleeps ? 1 : speed() / computations_;
}

void Cpu::adapt() {
  for (Work* work : works_) work->adapt();
}

Cpu::Work::Work(Cpu& cpu, Kind kind, double amount)
    : cpu_(cpu),
      kind_(kind),
      left_(amount),
      since_(Agenda::now()),
      over_(simgrid::s4u::Semaphore::create(0)) {
  cpu_.works_.push_back(this);
  if (kind_ == Kind::computes) ++cpu_.computations_;
  cpu_.adapt();
}

Cpu::Work::~Work() { leave(); }

bool Cpu::Work::wait() {
  over_->acquire();
  return is_done_;
}

void Cpu::Work::stop() {
  if (!is_running_) return;
  left_ = left();
  leave();
  over_->release();
}

double Cpu::Work::left() const {
  return is_running_ ? std::max(0.0, left_ - (Agenda::now() - since_) * rate_) : left_;
}

// Work whose rate stays the same keeps its planned end: no sum of parts rounds it.
void Cpu::Work::adapt() {
  const double rate = cpu_.rate_of(kind_);
  if (rate == rate_) return;
  left_ = left();
  since_ = Agenda::now();
  rate_ = rate;
  plan();
}

void Cpu::Work::plan() {
  end_.reset();
  if (rate_ == 0) return;
  const Agenda::Ticket ticket = cpu_.agenda_.end_of_work(since_ + left_ / rate_, [this] {
    left_ = 0;
    is_done_ = true;
    leave();
    over_->release();
  });
  end_.emplace(cpu_.agenda_, ticket);
}

void Cpu::Work::leave() {
  if (!is_running_) return;
  is_running_ = false;
  end_.reset();
  std::erase(cpu_.works_, this);
  if (kind_ == Kind::computes) --cpu_.computations_;
  cpu_.adapt();
}

Cpus::Cpus(Agenda& agenda, const ClusterSpec& cluster) {
  for (std::uint32_t host = 0; host < host_count(cluster); ++host)
    cpus_.emplace_back(agenda, speed_of(cluster, nodes_on(cluster, host).front()));
  for (std::uint32_t node = 0; node < node_count(cluster) + aggregator_count(cluster); ++node)
    by_node_.push_back(&cpus_[host_of(cluster, node)]);
}

}  // namespace psim
