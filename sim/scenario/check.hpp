// What no single field can tell: contradictions between fields, and between the fields and the data.
#pragma once

#include <memory>

#include "model/dataset.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/scenario.hpp"

namespace psim {

class Checker {
 public:
  Checker(const Scenario& scenario, const Places& places, Diagnostics& diagnostics)
      : s_(scenario), places_(places), diagnostics_(diagnostics) {}

  void check_fields();                      // without looking at data
  void check_data(const DataSplit& data);   // with it

  // The place of `path`, or of the nearest table around it that the file has.
  Place place(std::string path) const;
  bool given(const std::string& path) const { return places_.contains(path); }
  void add(const std::string& path, std::string message, std::string label, std::string help = {});

 private:
  void check_model();
  void check_training();
  void check_consistency();
  void check_cluster();
  void check_compute();
  void check_stragglers();

  const Scenario& s_;
  const Places& places_;
  Diagnostics& diagnostics_;
};

// Mean time of a step of `worker` in seconds, before any slowness.
double mean_step_seconds(const Scenario& scenario, std::size_t worker);

}  // namespace psim
