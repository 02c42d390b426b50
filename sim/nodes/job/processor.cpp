#include "sim/nodes/job/processor.hpp"

#include <utility>

#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/nodes.hpp"

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

double flops_of_samples(const JobContext& job, std::uint32_t index, std::int64_t local_steps, double scale) {
  const Scenario& scenario = job.plan.scenario;
  double mean = mean_step_seconds(scenario, index) * scenario.cluster.worker.speed.of(index).value;
  const TrainingSpec& training = scenario.training;
  mean *= static_cast<double>(local_steps) / static_cast<double>(training.local_steps);
  return mean * scale;
}

double all_copies(const JobContext& job, std::size_t values, std::int64_t local_steps) {
  const auto bytes = static_cast<double>(values * bytes_per_value(job.plan.precision()));
  if (values == 0 || !job.plan.scenario.cluster.worker_devices.bus()) return 0;
  return copies_of_clock(job.plan.scenario, bytes, local_steps).seconds;
}

}  // namespace psim
