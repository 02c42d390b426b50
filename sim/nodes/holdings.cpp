#include "sim/nodes/holdings.hpp"

#include <algorithm>
#include <utility>

#include "model/dataset.hpp"
#include "sim/nodes/batch_source.hpp"

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

}  // namespace psim
