// Where workers run the optimizer, a server has the sum of the last update, but no weights. A worker may be
// more than one update behind, because it was down or its server has lost the sum. Then it needs another
// worker's copy: that worker's weights and the state of its optimizer. The server asks one worker after the
// other for a copy. If no worker has a copy of this version, the version is lost, and training continues with
// the first weights. Pure: dates come from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "sim/protocol/message.hpp"

namespace psim {

class CopySearch {
 public:
  explicit CopySearch(double timeout) : timeout_(timeout) {}

  // The server has a copy of this version; null: for a phantom model.
  void put(std::int64_t version, std::shared_ptr<const Parameters> copy) {
    version_ = version;
    copy_ = std::move(copy);
    asks_ = false;
  }
  bool has(std::int64_t version) const { return version_ == version; }
  const std::shared_ptr<const Parameters>& copy() const { return copy_; }

  // Worker number `worker` will never have a copy of version `version`.
  void is_without(std::uint32_t worker, std::int64_t version) {
    look_for(version);
    without_.insert(worker);
  }
  bool is_known_without(std::uint32_t worker) const { return without_.contains(worker); }

  // Begins or continues the search for this version.
  void look_for(std::int64_t version) {
    if (std::exchange(wanted_, version) == version) return;
    asked_.clear();
    without_.clear();
    asks_ = false;
  }
  // Whether the server may ask this worker now; the previous one may still answer.
  bool may_ask(std::uint32_t worker, double now) {
    if (asks_ && now < date_ + timeout_) return false;
    return !asked_.contains(worker);
  }
  void ask(std::uint32_t worker, double now) {
    asked_.insert(worker);
    asks_ = true;
    date_ = now;
  }
  // The last worker that was asked has answered.
  void answered() { asks_ = false; }
  // The server has asked all workers: it starts over at the next turn.
  void begin_anew(double now) {
    if (now >= date_ + timeout_) asked_.clear();
    asks_ = true;
  }
  std::optional<double> next_turn() const { return asks_ ? std::optional(date_ + timeout_) : std::nullopt; }

 private:
  double timeout_;
  std::int64_t version_ = -1, wanted_ = -1;
  std::shared_ptr<const Parameters> copy_;
  std::set<std::uint32_t> asked_, without_;
  bool asks_ = false;  // an answer or the next turn is still to come
  double date_ = 0;    // of the last question
};

}  // namespace psim
