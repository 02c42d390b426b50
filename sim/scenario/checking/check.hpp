// What no single field can tell: contradictions between fields, and between the fields and the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/data_shape.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

class Checker {
 public:
  // `group`: whose job the scenario is, if there are several.
  Checker(const Scenario& scenario, const Reading& reading, Diagnostics& diagnostics, std::string group = {})
      : s_(scenario), reading_(reading), diagnostics_(diagnostics), group_(std::move(group)) {}

  void check_fields();                      // without looking at data
  void check_machines();                    // of several groups: what they share, and how they share it
  void check_job();                         // ... and what each namespace has of its own
  void check_data(const DataShape& train);  // with it

  // Nothing was reported yet, by whomever.
  bool content() const { return diagnostics_.empty(); }
  // Whether the data, or the platform file, can be asked for: nothing is wrong with their description.
  bool can_load() const;
  bool can_load_platform() const;
  bool can_load_jobs() const;  // likewise with the groups

  // A complaint about `fields` together, shown at the first of them, or at the nearest table around it that
  // the file has. Nothing is said when one of them is wrong by itself.
  void add(const std::vector<std::string>& fields, std::string message, std::string label,
           std::string help = {});
  // The same about the data, or another file that the scenario names.
  void add_data(const std::vector<std::string>& fields, std::string message, std::string label,
                std::string help = {});

  // A complaint about `length` bytes of the text that `field` has.
  void add_inside(const std::string& field, std::string_view text, std::size_t begin, std::size_t length,
                  std::string message, std::string label, std::string help);

 private:
  Place place(std::string path) const;
  void report(std::string code, const std::vector<std::string>& fields, std::string message,
              std::string label, std::string help);
  void check_learning();
  void check_source();
  void check_clicks();
  bool knows_model() const;  // whether its sizes are known, so that they can be judged
  bool fits_source() const;  // whether the model's kind can learn from such data
  void check_model();
  void check_logistic();
  void check_parameters();
  void check_shape(const DataShape& train);
  void check_training();
  void check_consistency();
  void check_cluster();
  void check_architecture();
  void check_without_servers();
  void check_network();
  void check_latency(const std::string& field, double latency);
  void check_room();
  void check_graph();
  bool check_ends(const std::string& field, const std::vector<std::string>& names);
  void check_connected();
  void check_platform();
  void check_inference();
  void check_compute();
  void check_devices();
  void check_pace();
  void check_pace_of_faults(double clock);
  std::vector<double> mean_steps() const;
  void check_slowness();
  void check_stragglers();
  void check_faults();
  void check_trigger(std::size_t fault);
  void check_condition(std::size_t fault);
  void check_fault_nodes(std::size_t fault);
  void check_members(std::size_t i);
  void check_disks(std::size_t i);
  void check_sides(std::size_t fault);
  void check_fault_values(std::size_t fault);
  void check_fault_order(std::size_t fault);
  bool check_node_name(const std::string& field, const std::string& name);
  void check_groups();
  void check_rhythm();
  void check_overlap();
  void check_stealing();
  void check_sparse();
  void check_recovery();
  void check_filters();
  void check_order(bool push);  // of the filters of one direction
  void check_neighbours(std::size_t first, std::size_t second, std::string_view what);

  const Scenario& s_;
  const Reading& reading_;
  Diagnostics& diagnostics_;
  std::string group_;
  bool too_large_ = false;  // to be generated
};

// Whether a fault may have `name` among its nodes.
bool is_known(const ClusterSpec& cluster, const std::string& name);

// "3 workers", "1 worker"; "there are only 3 workers".
std::string counted(std::int64_t count, std::string_view what);
std::string there_are(std::int64_t count, std::string_view what);

// Mean time of a clock's computation of `worker` in seconds, before any slowness.
double mean_step_seconds(const Scenario& scenario, std::size_t worker);

// Clocks of each worker that the scenario's steps or epochs make; none when something else ends the run.
std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples);

}  // namespace psim
