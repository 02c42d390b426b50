// The kinds of models: a table. model.kind chooses the row.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "model/base/settings.hpp"
#include "model/base/table.hpp"

namespace psim {

class Learner;
struct DataSplit;
struct ModelSpec;
struct ParameterArray;

// The data that a kind of model can learn from.
enum class Learns : std::uint8_t { anything, classes, two_classes, targets };

struct ModelRow {
  std::string_view name, doc;
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  bool has_numbers = true;  // weights, data and a loss; otherwise sizes only
  bool is_sparse = false;   // it learns from sparse samples, and a batch touches few weights
  Learns learns = Learns::anything;
  bool has_layers = false;           // the layers of model.layers
  std::string_view fields = {};      // of [model], besides its settings, separated by spaces
  std::string_view size_field = {};  // the field that gives its size
  // In the order of the weight vector; none: one array, "w", of all parameters.
  std::vector<ParameterArray> (*arrays)(const ModelSpec&) = nullptr;
  // The work of each layer's product with its inputs, in proportion; none: an array's size.
  std::vector<double> (*products)(const ModelSpec&) = nullptr;
  std::int64_t (*parameters)(const ModelSpec&) = nullptr;
  double (*flops_per_sample)(const ModelSpec&) = nullptr;  // of a gradient
  // Makes the object that computes its gradients. The data outlive that object.
  std::unique_ptr<Learner> (*learner)(const ModelSpec&, const DataSplit&) = nullptr;

  // Whether it learns from samples of `classes` classes; 0: the samples have targets.
  bool can_learn(std::int64_t classes) const {
    switch (learns) {
      case Learns::anything: return true;
      case Learns::classes: return classes > 0;
      case Learns::two_classes: return classes == 2;
      case Learns::targets: return classes == 0;
    }
    return false;
  }
  // The name of a missing function.
  std::string_view lacks() const {
    return parameters == nullptr               ? "parameters"
           : flops_per_sample == nullptr       ? "flops_per_sample"
           : has_numbers && learner == nullptr ? "learner"
                                               : "";
  }
};
template <>
std::deque<ModelRow> built_in_rows();
using ModelKind = Chosen<ModelRow>;

}  // namespace psim
