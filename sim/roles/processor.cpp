#include "sim/roles/processor.hpp"

#include <simgrid/Exception.hpp>
#include <simgrid/s4u/Actor.hpp>

#include <utility>

namespace psim {

void compute(JobContext& job, NodeId node, double flops) {
  const Busy busy(job, node);
  simgrid::s4u::this_actor::execute(flops);
}

bool Processor::compute(double flops, bool may_stop) {
  const simgrid::s4u::ExecPtr exec = simgrid::s4u::this_actor::exec_async(flops);
  if (may_stop) {
    state_ = State::computing;
    exec_ = exec;
  }
  const Busy busy(job_, node_);
  const double begin = Agenda::now();
  bool is_done = true;
  try {
    exec->wait();
  } catch (const simgrid::CancelException&) {
    is_done = false;
  }
  seconds_ += Agenda::now() - begin;
  state_ = State::unstoppable;
  exec_ = nullptr;
  return is_done;
}

bool Processor::copy(double seconds) {
  constexpr double shortest = 1e-9;  // that SimGrid sleeps
  if (seconds < shortest) return true;
  const Busy busy(job_, node_);
  state_ = State::copying;
  simgrid::s4u::this_actor::sleep_for(seconds);
  seconds_ += seconds;
  return std::exchange(state_, State::unstoppable) != State::stopped;
}

void Processor::stop() {
  if (state_ == State::unstoppable || state_ == State::stopped) return;
  if (std::exchange(state_, State::stopped) == State::copying) return;
  left_ = exec_->get_remaining();
  exec_->cancel();
}

}  // namespace psim
