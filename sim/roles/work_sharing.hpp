// A worker's part in work stealing: what it gives of its batch, and what it computes of others'.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/protocol/stealing.hpp"
#include "sim/roles/kv_client.hpp"
#include "sim/roles/local_work.hpp"
#include "sim/roles/world.hpp"

namespace psim {

class WorkSharing {
 public:
  WorkSharing(World& world, NodeId worker, KvClient& kv);

  // The clock's own samples (none of a phantom model), the weights for all of them, and the operations that
  // one of them takes here.
  void begin(std::int64_t clock, Batch batch, std::shared_ptr<Assembly> weights, double flops_per_sample);

  // Gives pieces to those who have asked, when `left` of this worker's samples are still to be computed, the
  // first of them perhaps begun. Returns how many are left then.
  double give(double left);

  // This worker's own samples are computed: pushes their gradient and tells the others.
  Timestamp finish();

  // From another worker. Computes what it sends; when nobody has anything left, pushes the gradient of all
  // that it has sent.
  void on(NodeId from, const Piece& piece);
  void on(NodeId from, const Idle& idle);

  std::int64_t own() const { return protocol_.own(); }
  std::int64_t stolen() const { return stolen_in_all_; }

  // Whether `message` asks for samples of the clock in hand.
  bool is_request(const Message& message) const {
    const Idle* idle = message.as<Idle>();
    return idle != nullptr && idle->clock == protocol_.clock();
  }

 private:
  void tell(std::uint32_t worker);
  void push_if_over();
  Timestamp push(Batch samples, std::int64_t count);
  std::uint64_t bytes_of(std::span<const std::uint32_t> samples, std::int64_t count) const;
  std::uint32_t index_of(NodeId worker) const { return worker - world_.first_worker(); }

  World& world_;
  NodeId node_;
  KvClient& kv_;
  Stealing protocol_;
  Batch batch_;
  std::shared_ptr<Assembly> weights_;
  double flops_per_sample_ = 0;
  Batch stolen_;                   // computed for others in this clock
  std::int64_t stolen_count_ = 0;  // of them; of a phantom model too
  std::int64_t stolen_in_all_ = 0;
};

}  // namespace psim
