#include "sim/nodes/processor.hpp"

#include <utility>

namespace psim {

void compute(JobContext& job, NodeId node, double flops) {
  const Busy busy(job, node);
  job.cpus.of(node).compute(flops);
  job.recorder.causes().spends(Agenda::now(), Spent::compute);
}

bool Processor::compute(double flops, bool may_stop) {
  const Busy busy(job_, node_);
  const double begun = Agenda::now();
  Cpu::Work work(job_.cpus.of(node_), Cpu::Work::Kind::computes, flops);
  if (may_stop) {
    state_ = State::computing;
    work_ = &work;
  }
  const bool is_done = work.wait();
  seconds_ += Agenda::now() - begun;
  job_.recorder.causes().spends(Agenda::now(), Spent::compute);
  if (!is_done) job_.recorder.causes().goes_on(Agenda::now(), stopped_by_);
  state_ = State::unstoppable;
  work_ = nullptr;
  return is_done;
}

bool Processor::copy(double seconds) {
  if (!(seconds > 0)) return true;
  const Busy busy(job_, node_);
  const double begun = Agenda::now();
  state_ = State::copying;
  job_.cpus.of(node_).sleep(seconds);
  seconds_ += Agenda::now() - begun;  // longer if the node was frozen
  job_.recorder.causes().spends(Agenda::now(), Spent::compute);
  return std::exchange(state_, State::unstoppable) != State::stopped;
}

void Processor::stop() {
  if (state_ == State::unstoppable || state_ == State::stopped) return;
  stopped_by_ = job_.recorder.causes().cause();
  if (std::exchange(state_, State::stopped) == State::computing) work_->stop();
}

double Processor::speed() const { return job_.cpus.of(node_).speed(); }

void Processor::pause() {
  if (state_ == State::computing) {
    left_ = work_->left();
    if (left_ == 0) return;  // it ends at this date
  }
  stop();
}

}  // namespace psim
