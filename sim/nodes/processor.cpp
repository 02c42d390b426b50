#include "sim/nodes/processor.hpp"

#include <simgrid/Exception.hpp>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Host.hpp>

#include <cmath>
#include <utility>

namespace psim {
namespace {

double speed_of(const simgrid::s4u::Host& host) { return host.get_speed() * host.get_available_speed(); }

}  // namespace

void compute(JobContext& job, NodeId node, double flops) {
  const Busy busy(job, node);
  simgrid::s4u::this_actor::execute(flops);
  job.recorder.causes().spends(Agenda::now(), Spent::compute);
}

bool Processor::compute(double flops, bool may_stop) {
  const simgrid::s4u::ExecPtr exec = simgrid::s4u::this_actor::exec_async(flops);
  if (may_stop) {
    state_ = State::computing;
    exec_ = exec;
  }
  const Busy busy(job_, node_);
  begun_ = Agenda::now();
  flops_ = flops;
  bool is_done = true;
  try {
    exec->wait();
  } catch (const simgrid::CancelException&) {
    is_done = false;
  }
  seconds_ += Agenda::now() - begun_;
  job_.recorder.causes().spends(Agenda::now(), Spent::compute);
  if (!is_done) job_.recorder.causes().goes_on(Agenda::now(), stopped_by_);
  state_ = State::unstoppable;
  exec_ = nullptr;
  return is_done;
}

bool Processor::copy(double seconds) {
  constexpr double shortest = 1e-9;  // the shortest sleep of SimGrid
  if (seconds < shortest) return true;
  const Busy busy(job_, node_);
  const double begun = Agenda::now();
  state_ = State::copying;
  simgrid::s4u::this_actor::sleep_for(seconds);
  seconds_ += Agenda::now() - begun;  // longer if the node was frozen
  job_.recorder.causes().spends(Agenda::now(), Spent::compute);
  return std::exchange(state_, State::unstoppable) != State::stopped;
}

void Processor::stop() {
  if (state_ == State::unstoppable || state_ == State::stopped) return;
  stopped_by_ = job_.recorder.causes().cause();
  if (std::exchange(state_, State::stopped) == State::computing) exec_->cancel();
}

double Processor::speed() { return speed_of(*simgrid::s4u::this_actor::get_host()); }

void Processor::pause() {
  if (state_ != State::computing) return stop();
  // SimGrid aborts if psim asks for the rest of work that ends at this date.
  const double done = (Agenda::now() - begun_) * speed_of(*exec_->get_host());
  constexpr double rounding = 1e-9;
  if (std::abs(flops_ - done) <= rounding * flops_) return;
  left_ = exec_->get_remaining();
  stop();
}

}  // namespace psim
