// The use of every node's time, as it happens: table `span` of run.db, from which time lines, pages and
// exports are drawn.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/record/event.hpp"

namespace psim {

// With several uses at once, the first of these counts for a worker:
//   down     it has crashed, has left, or has not joined yet
//   compute  it computes a gradient, kept or not
//   network  a message from or to it is on its way
//   wait     none of them: it waits for others
// A worker's time ends after its last clock, or with the run. service: a server or the storage's disk works
// on a message.
enum class Use : std::uint8_t { compute, network, wait, service, down };
inline constexpr std::array<std::string_view, 5> use_names{"compute", "network", "wait", "service", "down"};
constexpr std::string_view name_of(Use use) { return use_names[static_cast<std::size_t>(use)]; }

// Dates are simulated seconds.
struct Span {
  double begin = 0, end = 0;
  Use use = Use::wait;
  // For a wait and its network spans: the worker whose push (or other message) released the answer of a
  // server; if the server answered at once, the sender of the message that ended the wait; if another server
  // answered for a server that was down, the server that was down. For a service: the sender. Otherwise the
  // node itself.
  NodeId for_node = 0;
  // Clock that the worker is in or waits to start; of a service: clock of the message.
  std::int64_t clock = 0;
  // Number (in `sent`) of the message that ended the wait or is worked on; -1: none.
  std::int64_t message = -1;
};

// Cuts the time of workers into spans, and knows for whom each worker waited; and the time when other nodes
// are down. A wait is known only at its end, and a run may end before its last events. So spans are passed on
// when neither can change them any more.
class SpanBook {
 public:
  // Workers are the nodes from `first_worker` on, before `past_workers`. See WorkerBook for `last_work`.
  SpanBook(NodeId first_worker, NodeId past_workers, const double& last_work,
           std::function<void(NodeId, const Span&)> pass_on);

  // The worker's time until `now` is of this use. `through`: it counts only if the worker comes back.
  void on_time(NodeId worker, double now, Use use, bool through);
  // The worker is back: from this date on, the time since its last clock counts.
  void comes_back(NodeId worker, double now);
  // After the books of the workers.
  void on(const Event& event, std::uint64_t number);
  // The worker's time ends.
  void close(NodeId worker, double at);
  // The run ends.
  void close(double at);

 private:
  struct Piece {
    Span span;
    double counts_from = 0;  // the date
  };
  struct Day {
    double since = 0;
    std::int64_t clock = 0;  // begun last
    std::vector<Piece> pieces = {}, later = {};
    std::vector<std::pair<std::int64_t, NodeId>> held_up = {};  // by message: the node behind it
  };
  struct Other {  // a node that is no worker
    std::optional<double> down_since = {};
    bool seen = false;  // it has sent something
  };
  bool is_worker(NodeId node) const { return node >= first_ && node < first_ + days_.size(); }
  Other& other(NodeId node) {
    if (others_.size() <= node) others_.resize(node + 1);
    return others_[node];
  }
  NodeId behind(NodeId server, const Sent& answer);
  void on_answer(NodeId server, const Sent& answer, std::int64_t number);
  void on_wait(NodeId worker, const Wait& wait);
  void on_fault(double at, const FaultChange& fault);
  void on_other(NodeId node, double at, const Sent& message);
  void comes(NodeId node, double at);

  NodeId first_;
  const double* last_work_;
  std::function<void(NodeId, const Span&)> pass_on_;
  std::vector<Day> days_;      // by worker
  std::vector<Other> others_;  // by node
  // By server, shard and worker: the pull that was released last, and the node behind the release.
  std::map<std::tuple<NodeId, std::uint32_t, NodeId>, std::pair<std::int64_t, NodeId>> released_;
  // By worker, shard and pull: the first server that was asked.
  std::map<std::tuple<NodeId, std::uint32_t, std::int64_t>, NodeId> asked_;
};

}  // namespace psim
