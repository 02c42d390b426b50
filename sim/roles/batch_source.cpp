#include "sim/roles/batch_source.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/mutant.hpp"
#include "sim/scenario/spec/pace.hpp"

namespace psim {

std::vector<std::int64_t> first_batch_sizes(const JobContext& job) {
  if (!job.plan.batch_sizes.empty()) return job.plan.batch_sizes;
  const Scenario& scenario = job.plan.scenario;
  const auto workers = static_cast<std::size_t>(scenario.cluster.workers);
  if (scenario.training.work != WorkPolicy::proportional || !(mean_step_seconds(scenario, 0) > 0))
    return std::vector<std::int64_t>(workers, scenario.training.batch_size);
  std::vector<double> speeds;
  for (std::size_t w = 0; w < workers; ++w) speeds.push_back(1 / mean_step_seconds(scenario, w));
  return share_out(scenario.training.batch_size * scenario.cluster.workers, speeds);
}

std::uint64_t sample_bytes(const JobContext& job, std::span<const std::uint32_t> samples,
                           std::int64_t count) {
  const std::optional<Bytes>& given = job.plan.scenario.cluster.delivery.bytes_per_sample;
  if (given || job.plan.data == nullptr)
    return static_cast<std::uint64_t>(static_cast<double>(count) * given.value_or(Bytes{0}).value);
  const Dataset& data = *job.plan.data;
  const auto outputs = static_cast<std::uint64_t>(data.classes > 0 ? 1 : data.outputs());
  std::uint64_t bytes = 0;
  for (const std::uint32_t sample : samples) {
    bytes += mutant("labels-travel-free") ? 0 : 4 * outputs;
    bytes += data.is_sparse() ? 8 * data.sparse_inputs.row(sample).index.size()
                              : 4 * static_cast<std::uint64_t>(data.features());
  }
  return bytes;
}

BatchSource::BatchSource(JobContext& job, NodeId worker)
    : job_(job),
      node_(worker),
      index_(worker - job.plan.first_worker()),
      clock_samples_(job.plan.scenario.training.batch_size * job.plan.workers()) {
  const std::vector<std::int64_t> sizes = first_batch_sizes(job);
  size_ = sizes[index_];
  before_ = std::accumulate(sizes.begin(), sizes.begin() + index_, std::int64_t{0});
  if (job.plan.scenario.training.local_time) fitted_ = mean_local_steps(job.plan.scenario, index_);
}

std::int64_t BatchSource::local_steps_of(std::int64_t step) const {
  const TrainingSpec& training = job_.plan.scenario.training;
  const bool warms_up = step == 0 && training.warmup_steps > 0;
  return fitted_ > 0 && !warms_up ? fitted_ : training.local_steps_of(step);
}

bool BatchSource::delivered() const {
  return job_.plan.scenario.cluster.delivery.source == Delivery::database;
}

void BatchSource::on(const Samples& samples) {
  here_ = std::max(here_, samples.step + 1);  // a connection of the database keeps their order
}

void BatchSource::on(const Assign& assignment) {
  size_ = assignment.batch_size;
  before_ = assignment.samples_before;
  ++assignments_;
}

// The sizes of all workers must be of one decision, or their batches would overlap.
bool BatchSource::has_size(std::int64_t step) const {
  const TrainingSpec& training = job_.plan.scenario.training;
  return training.work != WorkPolicy::dynamic || step < (assignments_ + 1) * training.work_every;
}

void BatchSource::ask_ahead(std::int64_t step) {
  if (!delivered()) return;
  const std::int64_t last =
      std::min(step + (mutant("nothing-is-fetched-ahead") ? 0 : job_.plan.scenario.cluster.delivery.prefetch),
               job_.plan.steps - 1);
  while (asked_ <= last && has_size(asked_)) ask(asked_++);
}

// The first clock may have more local steps than the others. Where clocks have a time, those that went by
// count as if each had had as many local steps as one of mean speed.
void BatchSource::skip_to(std::int64_t step) {
  const TrainingSpec& training = job_.plan.scenario.training;
  drawn_.clear();
  asked_ = here_ = taken_ = step;
  batches_ = 0;
  if (step > 0) batches_ = (local_steps_of(0) + (step - 1) * local_steps_of(1)) * training.accumulate;
  position_ = batches_ * size_;
}

bool BatchSource::prepare(std::int64_t step) {
  ask_ahead(step);
  while (asked_ <= step && has_size(asked_)) ask(asked_++);
  return step < here_;
}

void BatchSource::ask(std::int64_t step) {
  drawn_.push_back(draw(step));
  if (!delivered()) {
    here_ = step + 1;
    return;
  }
  job_.network.send({.from = node_,
                     .to = job_.plan.database(),
                     .body = Fetch{.step = step, .sample_bytes = bytes_of(drawn_.back(), step)}});
}

// A worker that takes no part itself goes on as it did.
void BatchSource::share_out_among(const std::vector<bool>& members) {
  if (members == members_) return;
  members_ = members;
  const bool all = members.empty() || !members[index_];
  const std::vector<std::int64_t> sizes = first_batch_sizes(job_);
  clock_samples_ = before_ = 0;
  for (std::uint32_t w = 0; w < sizes.size(); ++w) {
    const std::int64_t size = all || members[w] ? sizes[w] : 0;
    clock_samples_ += size;
    if (w < index_ && !mutant("reassigned-samples-are-the-same")) before_ += size;
  }
}

// With iid samples a clock of all workers takes the next of one shuffled sequence, in worker order, however
// it is shared out; with shards every worker goes through its own.
BatchSource::Drawn BatchSource::draw(std::int64_t step) {
  const TrainingSpec& training = job_.plan.scenario.training;
  Drawn drawn{.batch_size = size_, .batches = {}};
  const bool shared = job_.plan.scenario.data.partition == Partition::iid;
  for (std::int64_t h = 0; h < local_steps_of(step); ++h) {
    std::vector<Batch>& batches = drawn.batches.emplace_back();
    for (std::int64_t a = 0; a < training.accumulate; ++a, ++batches_, position_ += size_) {
      if (job_.plan.sampler == nullptr) continue;
      batches.push_back(job_.plan.sampler->samples(
          index_, shared ? batches_ * clock_samples_ + before_ : position_, size_, members_));
    }
  }
  return drawn;
}

std::uint64_t BatchSource::bytes_of(const Drawn& drawn, std::int64_t step) const {
  if (job_.plan.data == nullptr) return sample_bytes(job_, {}, samples_of(drawn, step));
  std::uint64_t bytes = 0;
  for (const auto& batches : drawn.batches) {
    for (const Batch& batch : batches)
      bytes += sample_bytes(job_, batch, static_cast<std::int64_t>(batch.size()));
  }
  return bytes;
}

std::int64_t BatchSource::samples_of(const Drawn& drawn, std::int64_t step) const {
  return drawn.batch_size * local_steps_of(step) * job_.plan.scenario.training.accumulate;
}

double BatchSource::scale() const {
  return static_cast<double>(next_batch_size()) / static_cast<double>(job_.plan.scenario.training.batch_size);
}

std::vector<std::vector<Batch>> BatchSource::take() {
  std::vector<std::vector<Batch>> batches = std::move(drawn_.front().batches);
  in_hand_ = samples_of(drawn_.front(), taken_++) + (mutant("one-sample-more") ? 1 : 0);
  drawn_.pop_front();
  return batches;
}

void BatchSource::computed(double seconds, std::int64_t given_away) {
  const TrainingSpec& training = job_.plan.scenario.training;
  samples_computed_ += in_hand_ - given_away;
  if (job_.plan.scenario.recovery.slow.given && in_hand_ > 0)
    job_.network.send(
        {.from = node_,
         .to = scheduler_node,
         .body = Report{.clock = taken_, .seconds_per_sample = seconds / static_cast<double>(in_hand_)}});
  if (training.work != WorkPolicy::dynamic) return;
  round_seconds_ += seconds;
  round_samples_ += in_hand_;
  if (taken_ % training.work_every != 0 || taken_ >= job_.plan.steps) return;
  const double mean = round_seconds_ / static_cast<double>(round_samples_);
  job_.network.send(
      {.from = node_, .to = scheduler_node, .body = Report{.clock = taken_, .seconds_per_sample = mean}});
  round_seconds_ = 0;
  round_samples_ = 0;
}

}  // namespace psim
