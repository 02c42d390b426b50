// A rule as shards and clients refer to it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "sim/protocol/consistency.hpp"

namespace psim::test {

inline std::shared_ptr<const ConsistencyRule> shared_rule(ConsistencyRule rule) {
  return std::make_shared<const ConsistencyRule>(std::move(rule));
}
inline std::shared_ptr<const ConsistencyRule> shared_rule(const ConsistencySpec& spec, std::int64_t workers) {
  return shared_rule(make_rule(spec, workers));
}

}  // namespace psim::test
