#include "analysis/timeline/service.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace psim::analysis {

bool Service::is_storage(std::uint32_t node) const { return facts_.name_of(node) == "storage"; }

void Service::on(const Row& row) {
  if (row.is("fault")) on_fault(row);
  if (facts_.disk > 0) on_storage(row);
  const bool has_values = row.is("received", "push") || (row.is("received") && row.kind == "replicate");
  if (has_values && facts_.is_server(row.node)) {
    const double operations = facts_.server_flops_per_value * static_cast<double>(row.values);
    if (!(operations > 0) || !(facts_.server_speed(row.node) > 0)) return;
    pass(row.node, row.at);
    servers_[row.node].queue.push_back({{.node = row.node,
                                         .sender = row.peer,
                                         .begin = row.at,
                                         .end = row.at,
                                         .clock = row.clock,
                                         .message = row.sent},
                                        operations});
  }
}

void Service::pass(std::uint32_t node, double until) {
  Server& server = servers_[node];
  double now = std::exchange(server.now, std::max(server.now, until));
  const double rate = facts_.server_speed(node) * server.factor;
  while (!server.queue.empty()) {
    Job& job = server.queue.front();
    if (!std::exchange(job.is_begun, true)) job.work.begin = std::max(job.work.begin, now);
    now = std::max(now, job.work.begin);
    const double ready = rate > 0 ? now + job.operations / rate : std::numeric_limits<double>::infinity();
    job.work.end = std::min(ready, until);
    if (ready > until) {
      job.operations -= rate * std::max(0.0, until - now);
      return;
    }
    on_work_(job.work);
    server.queue.pop_front();
    now = ready;
  }
}

// Faults in force at once multiply.
void Service::on_fault(const Row& row) {
  if (row.has_target == 0) return;
  if (row.is_crash() && is_storage(row.peer)) disk_.clear();
  if (!facts_.is_server(row.peer)) return;
  if (row.kind == "slow") {
    pass(row.peer, row.at);
    Server& server = servers_[row.peer];
    const auto number = static_cast<std::size_t>(row.fault_table);
    if (row.begins != 0 && number < facts_.fault_factors.size())
      server.slowed[row.fault_table] = facts_.fault_factors[number];
    else server.slowed.erase(row.fault_table);
    server.factor = 1;
    for (const auto& [fault, factor] : server.slowed) server.factor *= factor;
  }
  if (!row.is_crash()) return;
  pass(row.peer, row.at);
  stop(row.peer);
}

// What is in hand is not finished.
void Service::stop(std::uint32_t node) {
  const std::deque<Job> lost = std::exchange(servers_[node].queue, {});
  if (!lost.empty() && lost.front().work.begin < lost.front().work.end) on_work_(lost.front().work);
}

// A snapshot is written when that is recorded; one that is asked for has been read when it is sent.
void Service::on_storage(const Row& row) {
  const bool is_asked = row.is("received", "state") || row.is("received", "restore");
  if (!is_storage(row.node)) return;
  if (is_asked) disk_.push_back({.node = row.node, .sender = row.peer, .begin = row.at, .message = row.sent});
  const bool is_done = row.is("snapshot") || row.is("sent", "state");
  if (!is_done || disk_.empty()) return;
  Work work = disk_.front();
  disk_.pop_front();
  work.begin = std::max(work.begin, disk_free_);
  work.end = disk_free_ = row.at;
  if (work.begin < work.end) on_work_(work);
}

void Service::close(double end) {
  for (auto& [node, server] : servers_) {
    pass(node, end);
    stop(node);
  }
}

}  // namespace psim::analysis
