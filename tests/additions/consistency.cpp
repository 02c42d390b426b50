// A consistency model: asynchronous, but a worker sees its own last push before it goes on.
#include "sim/protocol/consistency.hpp"

namespace {

const psim::Addition<psim::ConsistencyRow> echo{
    {.name = "echo",
     .aliases = "confirmed-async",
     .gate = psim::Gate::own,
     .group = psim::Group::one,
     .may_start = "its own push is applied",
     .applies = "each push on arrival",
     .late = "applied",
     .source = "k-async of Dutta et al., AISTATS 2018, with k = 1"}};

}  // namespace
