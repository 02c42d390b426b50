#include "sim/run_end.hpp"

#include <algorithm>

namespace psim {

void RunEnd::end_job(Job& job) {
  if (job.is_over()) return;
  job.end();
  if (std::ranges::all_of(jobs_, &Job::is_over)) return end_now();
  job.actors().end(job.finished());
  job.finish_curve();
  if (!job.plan().served) machines_.recorder.end_space(job.number());
}

// Pending entries would keep the clock running.
void RunEnd::end_now() {
  close();
  machines_.agenda.clear();
  Actors::kill_all();
}

void RunEnd::close() {
  if (ended_) return;
  ended_ = true;
  for (Job& job : jobs_) {
    if (!job.is_over()) job.end();
    date_ = std::max(date_, job.finished());
  }
  machines_.network.close([this](const Message& message) {
    for (Job& job : jobs_) {
      if (message.is<Push>() && job.plan().has_shard(message.shard)) job.actors().discard(message);
    }
  });
  for (Job& job : jobs_) job.actors().discard_rest();
  machines_.recorder.close(date_);
}

}  // namespace psim
