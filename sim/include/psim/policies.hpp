// Rows that a program adds to psim's tables before main() begins, each as a global variable:
//
//   const psim::Addition<psim::ConsistencyRow> mine{{.name = "mine", ...}};
//
// The parser, `psim explain`, the JSON Schema, the fuzzer and the simulation then know the row
// (docs/extending.md).
#pragma once

#include "model/base/settings.hpp"       // Setting: a number that belongs to a row
#include "model/base/table.hpp"          // Addition
#include "model/data_source.hpp"         // DataSourceRow: where samples come from
#include "model/model_row.hpp"           // ModelRow: what is learned
#include "model/optimizer.hpp"           // OptimizerRow: how a gradient moves the weights
#include "sim/protocol/consistency.hpp"  // ConsistencyRow: when a worker may start, what makes an update
#include "sim/protocol/filter.hpp"       // FilterRow: what becomes of a message's values
#include "sim/protocol/gradient_aggregation.hpp"  // AggregationRow: how the gradients of an update become one
#include "sim/protocol/staleness_weight.hpp"      // StalenessWeightRow: how much less a stale push counts
#include "sim/scenario/spec/distributions.hpp"    // DistributionRow: how long a step takes
#include "sim/scenario/spec/faults.hpp"           // FaultKindRow: what happens to nodes and messages
#include "sim/scenario/spec/presets.hpp"          // PresetTable: another system's defaults
