// Where workers run the optimizer, a server has the sum of the last update, and no weights. A worker that is
// more than one update behind, because it was down or its server has lost the sum, needs another worker's
// copy: its weights and the state of its optimizer. The server asks the workers for one, one after the other.
// When none has one of this version, nobody ever will, and training goes on with first weights. Pure: dates
// come from outside.
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

  // A copy of this version is here; null: of a phantom model.
  void put(std::int64_t version, std::shared_ptr<const Parameters> copy) {
    version_ = version;
    copy_ = std::move(copy);
    asks_ = false;
  }
  bool has(std::int64_t version) const { return version_ == version; }
  const std::shared_ptr<const Parameters>& copy() const { return copy_; }

  // Worker number `worker` has no copy of version `version`, and will have none.
  void is_without(std::uint32_t worker, std::int64_t version) {
    look_for(version);
    without_.insert(worker);
  }
  bool is_known_without(std::uint32_t worker) const { return without_.contains(worker); }

  // Begins the search for this version, or goes on with it.
  void look_for(std::int64_t version) {
    if (std::exchange(wanted_, version) == version) return;
    asked_.clear();
    without_.clear();
    asks_ = false;
  }
  // Whether to ask this worker now; the last one may still answer.
  bool may_ask(std::uint32_t worker, double now) {
    if (asks_ && now < date_ + timeout_) return false;
    return !asked_.contains(worker);
  }
  void ask(std::uint32_t worker, double now) {
    asked_.insert(worker);
    asks_ = true;
    date_ = now;
  }
  // The one that was asked last has answered.
  void answered() { asks_ = false; }
  // All have been asked: from the next turn on they are asked again.
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
  bool asks_ = false;  // an answer is to come, or a turn
  double date_ = 0;    // of the last question
};

}  // namespace psim
