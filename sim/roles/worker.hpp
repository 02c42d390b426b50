// A worker: pulls weights, computes a gradient, pushes it; again and again.
#pragma once

#include <simgrid/s4u/Exec.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/roles/world.hpp"

namespace psim {

class Worker {
 public:
  Worker(World& world, NodeId node);

  // The actor's body.
  void run();

  // A message for this worker has come in, while it may be computing. Runs in the simulation kernel.
  void on_arrival(const Message& message);

 private:
  // What the worker knows of one server.
  struct Connection {
    std::int64_t version = -1;  // of the weights that it has
    std::int64_t pulls = 0;     // sent
    std::int64_t pushes = 0;    // sent
    bool outstanding = false;   // the last pull is not answered yet
    bool finished = false;      // the server wants no more pushes
    Slice weights;              // the last ones of a finished server are used on
  };

  bool pull();     // false when training is over
  bool compute();  // false when a newer version made it pointless
  void push();

  void request(std::uint32_t server, std::int64_t above);
  void handle(Message message);
  bool is_over() const;
  void wait_for_all();
  bool all_answered() const;
  std::int64_t round() const;
  Pool::Handle start_gradient();
  double flops_of_step() const;

  World& world_;
  NodeId node_;
  std::uint32_t index_;
  std::vector<Connection> servers_;
  std::int64_t steps_begun_ = 0;  // computations, kept or not: numbers batches and slowness
  std::int64_t clock_ = 0;        // of the step in hand
  std::shared_ptr<Values> gradient_;
  simgrid::s4u::ExecPtr computing_;
};

}  // namespace psim
