// The shards that there are while a run goes on.
#pragma once

#include <memory>
#include <vector>

#include "sim/protocol/view.hpp"

namespace psim {

class Layouts {
 public:
  // Of the scheduler's last view; null: that of the plan.
  const Layout* newest() const { return newest_.get(); }
  // Returns whether the view's is another one.
  bool take(const View& view) {
    if (view.layout == newest_) return false;
    if (newest_) before_.push_back(newest_);
    newest_ = view.layout;
    return true;
  }

 private:
  std::shared_ptr<const Layout> newest_;
  std::vector<std::shared_ptr<const Layout>> before_;  // weights on their way may have them
};

}  // namespace psim
