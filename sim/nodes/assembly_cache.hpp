// One assembled copy of the weights for all workers that pulled the same version.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/values.hpp"

namespace psim {

class AssemblyCache {
 public:
  std::shared_ptr<Assembly> of(std::vector<Slice> parts, const Assembly::Places* places) {
    std::shared_ptr<Assembly> last = last_.lock();
    if (last && last->same_parts(parts) && last->join()) return last;
    last = std::make_shared<Assembly>(std::move(parts), places);
    last_ = last;
    return last;
  }

 private:
  std::weak_ptr<Assembly> last_;  // the copy that a worker pulled last
};

}  // namespace psim
