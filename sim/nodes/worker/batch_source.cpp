#include "sim/nodes/worker/batch_source.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/dataset.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

Holdings::Holdings(JobContext& job, NodeId worker, Requests& requests)
    : job_(job), node_(worker), index_(worker - job.plan.first_worker()), requests_(requests) {}

bool Holdings::moves() const { return job_.plan.scenario.moves_data(); }

std::vector<bool> Holdings::part_of(std::uint32_t worker, const std::vector<bool>& members) const {
  const auto samples = static_cast<std::size_t>(job_.plan.data->size());
  if (job_.plan.scenario.data.partition == Partition::iid) return std::vector<bool>(samples, true);
  std::vector<bool> part(samples, false);
  const bool reassigns = job_.plan.scenario.recovery.data == LostData::reassign;
  for (const std::uint32_t sample :
       job_.plan.sampler->part(worker, reassigns ? members : std::vector<bool>{}))
    part[sample] = true;
  return part;
}

void Holdings::need(const std::vector<bool>& given) {
  if (!moves()) return;
  const std::vector<bool> members = given.empty() ? std::vector<bool>(job_.plan.workers(), true) : given;
  if (members == members_ || (!members_.empty() && !members[index_])) return;
  const bool is_first = members_.empty();
  std::vector<bool> before = is_first ? members : members_;
  before[index_] = false;
  members_ = members;
  const std::vector<bool> needed_before = std::exchange(needed_, part_of(index_, members));
  const bool was_there = job_.network.incarnation(node_) == 0 &&
                         std::ranges::find(job_.plan.absent, node_) == job_.plan.absent.end();
  if (is_first) held_ = was_there ? needed_ : std::vector<bool>(needed_.size(), false);
  std::vector<bool> missing = needed_;
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    if (!is_first) held_[i] = held_[i] && (needed_[i] || needed_before[i]);
    if (held_[i]) missing[i] = false;
  }
  for (const auto& [number, samples] : open_) {
    for (const std::uint32_t sample : *samples) missing[sample] = false;
  }
  if (job_.plan.scenario.recovery.data_from == DataFrom::workers) ask_workers(missing, before);
  Ids rest;
  for (std::uint32_t i = 0; i < missing.size(); ++i) {
    if (missing[i]) rest.push_back(i);
  }
  if (!rest.empty()) ask(job_.plan.database(), std::move(rest));
}

// Asks each earlier holder for the samples that it held.
void Holdings::ask_workers(std::vector<bool>& missing, const std::vector<bool>& holders) {
  const bool all_hold_all = job_.plan.scenario.data.partition == Partition::iid;
  auto left = std::ranges::count(missing, true);
  auto count = std::ranges::count(holders, true);
  for (std::uint32_t w = 0; w < holders.size() && left > 0; ++w) {
    if (!holders[w]) continue;
    const std::vector<bool> part = part_of(w, holders);
    const std::ptrdiff_t most = all_hold_all ? (left + count - 1) / count : left;
    --count;
    Ids samples;
    for (std::uint32_t i = 0; i < missing.size() && std::ssize(samples) < most; ++i) {
      if (missing[i] && part[i]) samples.push_back(i);
    }
    for (const std::uint32_t sample : samples) missing[sample] = false;
    left -= std::ssize(samples);
    if (!samples.empty()) ask(job_.plan.first_worker() + w, std::move(samples));
  }
}

void Holdings::ask(NodeId node, Ids samples) {
  const std::int64_t number = asked_++;
  const SharedKeys shared = std::make_shared<const Keys>(std::move(samples));
  open_.emplace(number, shared);
  fetch(number, node, shared);
}

// Repetitions go to the database.
void Holdings::fetch(std::int64_t number, NodeId node, const SharedKeys& samples) {
  const std::uint64_t bytes = sample_bytes(job_, *samples, std::ssize(*samples));
  requests_.ask(
      number,
      {.from = node_, .to = node, .body = Fetch{.step = number, .sample_bytes = bytes, .samples = samples}},
      job_.plan.database());
}

void Holdings::on(NodeId from, const Samples& answer) {
  const auto open = open_.find(answer.step);
  if (open == open_.end()) return;  // a repeated answer
  const SharedKeys samples = open->second;
  if (answer.lacks) {
    if (from != job_.plan.database()) fetch(answer.step, job_.plan.database(), samples);
    return;
  }
  for (const std::uint32_t sample : *samples) held_[sample] = true;
  requests_.answered(MessageKind::fetch, answer.step);
  open_.erase(open);
}

void Holdings::serve(const Message& message) const {
  const Fetch& fetch = *message.as<Fetch>();
  const bool lacks = held_.empty() || !std::ranges::all_of(*fetch.samples, [this](std::uint32_t sample) {
                       return held_[sample];
                     });
  Message answer{
      .from = node_,
      .to = message.from,
      .body = Samples{.step = fetch.step, .sample_bytes = lacks ? 0 : fetch.sample_bytes, .lacks = lacks}};
  job_.agenda.at(Agenda::now(), [&job = job_, answer] {
    if (job.network.is_up(answer.from)) job.network.send_once(Message(answer));
  });
}

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
    bytes += 4 * outputs;
    bytes += data.is_sparse() ? 8 * data.sparse_inputs.row(sample).index.size()
                              : 4 * static_cast<std::uint64_t>(data.features());
  }
  return bytes;
}

BatchSource::BatchSource(JobContext& job, NodeId worker, Requests& requests)
    : job_(job),
      node_(worker),
      index_(worker - job.plan.first_worker()),
      requests_(requests),
      holdings_(job, worker, requests) {
  const Sizes sizes = first_batch_sizes(job);
  share_.size = sizes[index_];
  share_.before = std::accumulate(sizes.begin(), sizes.begin() + index_, std::int64_t{0});
  share_.of_clock = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (job.plan.scenario.training.fits_steps()) fitted_ = mean_local_steps(job.plan.scenario, index_);
  if (!is_dynamic()) return;
  Assign first{.batch_size = share_.size, .samples_before = share_.before};
  if (job.plan.scenario.may_fail()) first.sizes = std::make_shared<const Sizes>(sizes);
  assigned_.emplace(0, std::move(first));
}

std::int64_t BatchSource::local_steps_of(std::int64_t step) const {
  const TrainingSpec& training = job_.plan.scenario.training;
  if (step == 0 && training.warmup_steps > 0 && warms_up_) return training.warmup_steps;
  return fitted_ > 0 ? fitted_ : training.local_steps;
}

bool BatchSource::delivered() const {
  return job_.plan.scenario.cluster.delivery.source == Delivery::database;
}

void BatchSource::on(const Message& message, const Samples& samples) {
  if (!delivered()) return holdings_.on(message.from, samples);
  arrivals_[samples.step] = message.because.event;
  requests_.answered(MessageKind::fetch, samples.step);
  awaited_.erase(samples.step);
}

void BatchSource::on(const Assign& assignment) {
  requests_.answered(MessageKind::report, assignment.clock);
  const std::int64_t key = assignment.decision.value_or(assignment.clock);
  if (assignment.decision && key <= assigned_.begin()->first) return;
  if (assignment.decision || !job_.plan.scenario.may_fail()) assigned_.clear();
  assigned_.insert_or_assign(key, assignment);
}

// In step: the first clock of the decision that covers this step.
std::int64_t BatchSource::round_of(std::int64_t step) const {
  const std::int64_t every = job_.plan.scenario.training.work_every;
  return (step + clocks_ahead_) / every * every;
}

// The sizes of all workers must come from the same decision. Otherwise their batches would overlap.
bool BatchSource::has_size(std::int64_t step) const {
  return !is_dynamic() || !in_step() || assigned_.contains(round_of(step));
}

BatchSource::Share BatchSource::share_of(std::int64_t step) const {
  if (!is_dynamic()) return share_;
  const auto of_round = assigned_.find(round_of(step));
  return share_in(in_step() && of_round != assigned_.end() ? of_round->second : assigned_.rbegin()->second);
}

BatchSource::Share BatchSource::share_in(const Assign& assignment) const {
  Share share{assignment.batch_size, assignment.samples_before, share_.of_clock};
  if (!assignment.sizes || members_.empty() || !members_[index_]) return share;
  const Sizes sizes = share_among(*assignment.sizes, members_);
  share.size = sizes[index_];
  share.before = std::accumulate(sizes.begin(), sizes.begin() + index_, std::int64_t{0});
  return share;
}

void BatchSource::ask_ahead(std::int64_t step) {
  if (!delivered()) return;
  const std::int64_t last =
      std::min(step + job_.plan.scenario.cluster.delivery.prefetch, job_.plan.steps - 1);
  while (asked_ <= last && has_size(asked_)) ask(asked_++);
}

// The first clock may have more local steps than the others. Where clocks have a time, a skipped clock counts
// with the local steps of a worker of mean speed.
void BatchSource::skip_to(std::int64_t step) {
  const TrainingSpec& training = job_.plan.scenario.training;
  drawn_.clear();
  awaited_.clear();
  if (delivered()) requests_.forget(MessageKind::fetch);
  asked_ = taken_ = step;
  clocks_ahead_ = 0;
  batches_ = 0;
  const std::int64_t first = training.warmup_steps > 0 ? training.warmup_steps : local_steps_of(1);
  if (step > 0) batches_ = (first + (step - 1) * local_steps_of(1)) * training.accumulate;
  position_ = batches_ * share_of(step).size;
}

bool BatchSource::prepare(std::int64_t step) {
  ask_ahead(step);
  while (asked_ <= step && has_size(asked_)) ask(asked_++);
  if (asked_ <= step) {
    const std::int64_t round = round_of(asked_);
    const bool may_fail = job_.plan.scenario.may_fail();
    if (may_fail && !requests_.is_open(MessageKind::report, round)) report(round, {});
    return false;
  }
  if (awaited_.contains(step) || !holdings_.is_complete()) return false;
  if (const auto arrival = arrivals_.extract(step)) job_.recorder.causes().needs(arrival.mapped());
  return true;
}

void BatchSource::ask(std::int64_t step) {
  drawn_.push_back(draw(step));
  if (!delivered()) return;
  awaited_.insert(step);
  requests_.ask(step, {.from = node_,
                       .to = job_.plan.database(),
                       .body = Fetch{.step = step, .sample_bytes = bytes_of(drawn_.back(), step)}});
}

// A worker that takes no part itself keeps its share.
void BatchSource::share_out_among(const std::vector<bool>& members) {
  holdings_.need(members);
  if (job_.plan.scenario.recovery.data != LostData::reassign || members == members_) return;
  members_ = members;
  const bool all = members.empty() || !members[index_];
  const Sizes sizes = first_batch_sizes(job_);
  share_.of_clock = share_.before = 0;
  for (std::uint32_t w = 0; w < sizes.size(); ++w) {
    const std::int64_t size = all || members[w] || is_dynamic() ? sizes[w] : 0;
    share_.of_clock += size;
    if (w < index_) share_.before += size;
  }
}

// With iid samples the batches of one clock are the next part of one shuffled sequence, in worker order,
// whatever the shares are. With other partitions every worker goes through its own data.
BatchSource::Drawn BatchSource::draw(std::int64_t step) {
  const TrainingSpec& training = job_.plan.scenario.training;
  const Share share = share_of(step);
  Drawn drawn{.batch_size = share.size, .batches = {}};
  const bool shared = job_.plan.scenario.data.partition == Partition::iid;
  for (std::int64_t h = 0; h < local_steps_of(step); ++h) {
    std::vector<Batch>& batches = drawn.batches.emplace_back();
    for (std::int64_t a = 0; a < training.accumulate; ++a, ++batches_, position_ += share.size) {
      if (job_.plan.sampler == nullptr) continue;
      batches.push_back(job_.plan.sampler->samples(
          index_, shared ? batches_ * share.of_clock + share.before : position_, share.size, members_));
    }
    if (!batches.empty()) batches.resize(static_cast<std::size_t>(accumulated()));  // the others are dropped
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
  return drawn.batch_size * local_steps_of(step) * accumulated();
}

double BatchSource::scale() const {
  const TrainingSpec& training = job_.plan.scenario.training;
  return static_cast<double>(next_batch_size() * accumulated()) /
         static_cast<double>(training.batch_size * training.accumulate);
}

std::vector<std::vector<Batch>> BatchSource::take() {
  expects(!drawn_.empty(), "a step begins with a batch");
  std::vector<std::vector<Batch>> batches = std::move(drawn_.front().batches);
  in_hand_ = samples_of(drawn_.front(), taken_++);
  drawn_.pop_front();
  return batches;
}

void BatchSource::computed(double seconds, std::int64_t given_away) {
  const std::int64_t every = job_.plan.scenario.training.work_every;
  samples_computed_ += in_hand_ - given_away;
  const std::int64_t here = in_hand_ - given_away;
  if (job_.plan.scenario.recovery.slow.given && here > 0)
    job_.network.send({.from = node_,
                       .to = scheduler_node,
                       .body = Report{.purpose = Report::To::find_slow,
                                      .clock = taken_,
                                      .seconds_per_sample = seconds / static_cast<double>(here)}});
  const std::int64_t accumulate = accumulated();
  if (job_.plan.scenario.training.inner.dynamic && in_hand_ > 0)
    job_.state.step_seconds.of_worker[index_] =
        seconds * static_cast<double>(last_batch_size() * accumulate) / static_cast<double>(in_hand_);
  if (!is_dynamic()) return;
  round_seconds_ += seconds;
  round_samples_ += in_hand_;
  const std::int64_t next = taken_ + (in_step() ? clocks_ahead_ : 0);
  if (next % every != 0 || next >= job_.plan.steps) return;
  const double samples = static_cast<double>(round_samples_);
  report(next, round_samples_ > 0 ? std::optional(round_seconds_ / samples) : std::nullopt);
  round_seconds_ = 0;
  round_samples_ = 0;
}

// In step, a worker waits for the answer. Otherwise it hears of a decision at the latest with its next
// report.
void BatchSource::report(std::int64_t clock, std::optional<double> seconds_per_sample) {
  Message message{.from = node_, .to = scheduler_node};
  Report& report =
      message.body.emplace<Report>(Report{.clock = clock, .seconds_per_sample = seconds_per_sample});
  if (in_step()) return requests_.ask(clock, std::move(message));
  report.decision = assigned_.begin()->first;
  job_.network.send(std::move(message));
}

}  // namespace psim
