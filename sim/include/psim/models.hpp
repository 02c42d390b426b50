// Types for a program's own models and data sources (docs/extending.md). This header needs Eigen.
#pragma once

#include "model/base/random.hpp"  // Stream: numbers drawn by a seed, a name and indices
#include "model/data/split.hpp"   // split_test: which samples are the test's
#include "model/data_spec.hpp"    // DataShape: the sizes of a training set
#include "model/dataset.hpp"      // Dataset, DataSplit: samples, and what they are for
#include "model/learner.hpp"      // Learner: first weights, gradients, evaluation
#include "psim/policies.hpp"      // ModelRow, DataSourceRow
