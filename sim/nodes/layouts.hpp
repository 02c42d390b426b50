// The shards of a run. They change when the scheduler cuts some of them.
#pragma once

#include <memory>
#include <vector>

#include "sim/protocol/view.hpp"

namespace psim {

class Layouts {
 public:
  // The layout of the scheduler's last view; null: that of the plan.
  const Layout* newest() const { return newest_.get(); }
  // Returns whether the view has another layout.
  bool take(const View& view) {
    if (view.layout == newest_) return false;
    if (newest_) before_.push_back(newest_);
    newest_ = view.layout;
    return true;
  }

 private:
  std::shared_ptr<const Layout> newest_;
  std::vector<std::shared_ptr<const Layout>> before_;  // weights on their way may still use them
};

}  // namespace psim
