// A training loop over dmlc/ps-lite, for its real step times: a worker sleeps for its computation, pushes all
// values, waits for the acknowledgements, pulls all values, and waits for them. Servers add pushes up. They
// acknowledge a push at once (asp), when no worker is more than BOUND steps behind its sender (ssp), or when
// all workers have pushed the step (bsp: BOUND 0).
//
//   training BOUND FLOATS COMPUTE_MS SLOWDOWN STEPS OUT
//
// SLOWDOWN is the factor of the worker with rank 0. Worker R writes `OUT.R`: for each step the dates at which
// its computation, its push and its pull began, and at which it ended. Server R writes `OUT.server.R`: for
// each request 1 (push) or 0 (pull), the date at which the server saw it, and the worker's rank. Dates are
// seconds of the machine's clock. Roles and addresses come from ps-lite's DMLC_ variables (measure.py).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "ps/ps.h"

namespace {

using Values = ps::KVPairs<float>;
using Server = ps::KVServer<float>;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Store {
 public:
  Store(int bound, std::FILE* seen) : bound_(bound), seen_(seen) {}
  ~Store() { std::fclose(seen_); }

  void handle(const ps::KVMeta& request, const Values& data, Server* server) {
    std::fprintf(seen_, "%d %.6f %d\n", request.push, now(), ps::Postoffice::Get()->IDtoRank(request.sender));
    if (request.push) add(request, data, server);
    else answer(request, data, server);
  }

 private:
  struct Waiting {
    ps::KVMeta request;
    int step;
  };

  void add(const ps::KVMeta& request, const Values& data, Server* server) {
    values_.resize(std::max(values_.size(), data.vals.size()));
    for (std::size_t i = 0; i < data.vals.size(); ++i) values_[i] += data.vals[i];
    waiting_.push_back({request, ++steps_[request.sender]});
    int least = 0;
    if (steps_.size() == static_cast<std::size_t>(ps::NumWorkers()))
      least = std::min_element(steps_.begin(), steps_.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
              })->second;
    const auto waits = [&](const Waiting& one) { return one.step > least + bound_; };
    const auto first = std::stable_partition(waiting_.begin(), waiting_.end(), waits);
    std::for_each(first, waiting_.end(), [&](const Waiting& one) { server->Response(one.request); });
    waiting_.erase(first, waiting_.end());
  }

  void answer(const ps::KVMeta& request, const Values& data, Server* server) {
    Values values;
    values.keys = data.keys;
    values.vals.resize(values_.size());
    std::memcpy(values.vals.data(), values_.data(), sizeof(float) * values_.size());
    server->Response(request, values);
  }

  int bound_;
  std::FILE* seen_;
  std::vector<float> values_;
  std::map<int, int> steps_;  // by worker
  std::vector<Waiting> waiting_;
};

std::FILE* opened(const std::string& path) { return std::fopen(path.c_str(), "w"); }

void train(int floats, double seconds, int steps, const std::string& out) {
  constexpr int keys = 64;
  ps::KVWorker<float> worker(0, 0);
  std::vector<ps::Key> names(keys);
  for (int i = 0; i < keys; ++i) names[i] = ~ps::Key{0} / keys * i + i;
  const std::vector<float> values(floats / keys * keys, 1.0F);
  std::vector<float> received;
  worker.Wait(worker.Push(names, values));
  ps::Postoffice::Get()->Barrier(0, ps::kWorkerGroup);
  std::FILE* file = opened(out + "." + std::to_string(ps::MyRank()));
  for (int step = 0; step < steps; ++step) {
    const double begin = now();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const double push = now();
    worker.Wait(worker.Push(names, values));
    const double pull = now();
    received.clear();
    worker.Wait(worker.Pull(names, &received));
    std::fprintf(file, "%.6f %.6f %.6f %.6f\n", begin, push, pull, now());
  }
  std::fclose(file);
  ps::Postoffice::Get()->Barrier(0, ps::kWorkerGroup);
}

}  // namespace

int main(int, char** argv) {
  const int bound = std::atoi(argv[1]), floats = std::atoi(argv[2]), steps = std::atoi(argv[5]);
  const double compute = std::atof(argv[3]) / 1e3, slowdown = std::atof(argv[4]);
  ps::Start(0);
  if (ps::IsServer()) {
    auto* server = new Server(0);
    auto* store = new Store(bound, opened(std::string(argv[6]) + ".server." + std::to_string(ps::MyRank())));
    server->set_request_handle([store](const ps::KVMeta& request, const Values& data, Server* self) {
      store->handle(request, data, self);
    });
    ps::RegisterExitCallback([server, store] {
      delete server;
      delete store;
    });
  }
  if (ps::IsWorker()) train(floats, ps::MyRank() == 0 ? slowdown * compute : compute, steps, argv[6]);
  ps::Finalize(0, true);
}
