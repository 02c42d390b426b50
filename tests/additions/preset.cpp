// A preset: the defaults of one system, each with its source.
#include <vector>

#include "sim/scenario/spec/presets.hpp"

namespace {

const std::vector<psim::PresetRow> rows{
    {"consistency.model", "\"asp\"", "replicas and shards run independently of each other",
     "Dean et al., NIPS 2012, section 4.1"},
    {"training.optimizer", "\"adagrad\"", "each shard adapts the rate of each of its parameters",
     "Dean et al., NIPS 2012, section 4.1"},
    {"", "", "backup replicas of Sandblaster L-BFGS", "Dean et al., NIPS 2012, section 4.2"},
};

const psim::Addition<psim::PresetTable> downpour{
    {.name = "downpour", .doc = "Google's DistBelief with Downpour SGD", .rows = rows}};

}  // namespace
