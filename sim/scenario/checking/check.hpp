// Checks of several fields together: contradictions between fields, and between the fields and the data.
// spec/features.hpp has the table of features and their needs; checks.hpp declares the other checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/data_spec.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// A scenario, the sources of its fields, and the destination of diagnostics.
struct Check {
  const Scenario& s;
  const Reading& reading;
  Diagnostics& diagnostics;
  std::string group = {};  // the group of the job, if there are several groups

  // Reports a contradiction of `fields` at the first of them, or at the nearest table around it in the file.
  // Reports nothing if one of the fields has an error itself.
  void add(const std::vector<std::string>& fields, std::string message, std::string label,
           std::string help = {}) const;
  // The same for the data, or for another file that the scenario names.
  void add_data(const std::vector<std::string>& fields, std::string message, std::string label,
                std::string help = {}) const;
  // A note about data or another file, which does not prevent a run.
  void note_data(const std::string& field, std::string message, std::string help) const;
  // The same with the kind of error `code`.
  void report(std::string code, const std::vector<std::string>& fields, std::string message,
              std::string label, std::string help) const;
  // Reports an error of kind `code` in `length` bytes of the text of `field`.
  struct Inside {
    std::string_view text;
    std::size_t begin, length;
  };
  void add_inside(std::string code, const std::string& field, const Inside& inside, std::string message,
                  std::string label, std::string help) const;

 private:
  Place place(std::string path) const;
};

// All checks that need no data: of a scenario, or of the shared fields if there are several groups.
void check_scenario(const Check& check);
// With several groups: the checks of a job's own fields.
void check_job(const Check& check);
// Makes the devices of one machine the workers of its pipeline.
void settle_devices(Scenario& scenario, const Check& check);
// With several groups: whether the servers have room for the models of all jobs.
void check_servers_of(const Check& check, const std::vector<const Scenario*>& jobs);
// The checks that need the data.
void check_data(const Check& check, const DataShape& train);

// Whether psim can read the data, the platform file or the jobs of groups: their fields have no errors.
bool can_load(const Check& check);
bool can_load_platform(const Check& check);
bool can_load_jobs(const Check& check);

}  // namespace psim
