// What no single field can tell: contradictions between fields, and between the fields and the data. Which
// features need what is a table of its own (spec/features.hpp); checks.hpp has the others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/data_shape.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// A scenario, what its sources say about each field, and where complaints go.
struct Check {
  const Scenario& s;
  const Reading& reading;
  Diagnostics& diagnostics;
  std::string group = {};  // whose job the scenario is, if there are several

  // A complaint about `fields` together, shown at the first of them, or at the nearest table around it that
  // the file has. Nothing is said when one of them is wrong by itself.
  void add(const std::vector<std::string>& fields, std::string message, std::string label,
           std::string help = {}) const;
  // The same about the data, or another file that the scenario names.
  void add_data(const std::vector<std::string>& fields, std::string message, std::string label,
                std::string help = {}) const;
  // The same under the name `code` of the kind of error.
  void report(std::string code, const std::vector<std::string>& fields, std::string message,
              std::string label, std::string help) const;
  // A complaint about `length` bytes of the text that `field` has, under the name `code`.
  struct Inside {
    std::string_view text;
    std::size_t begin, length;
  };
  void add_inside(std::string code, const std::string& field, const Inside& inside, std::string message,
                  std::string label, std::string help) const;

 private:
  Place place(std::string path) const;
};

// All checks that need no data: of a scenario, or with several groups of what they share.
void check_scenario(const Check& check);
// With several groups: what each job has of its own.
void check_job(const Check& check);
// Makes the devices of one machine the workers of a pipeline over them.
void settle_devices(Scenario& scenario, const Check& check);
// With several groups: whether the servers have room for the models of all jobs.
void check_servers_of(const Check& check, const std::vector<const Scenario*>& jobs);
// What only the data tell.
void check_data(const Check& check, const DataShape& train);

// Whether the data, the platform file or the jobs of groups can be asked for: nothing is wrong with their
// description.
bool can_load(const Check& check);
bool can_load_platform(const Check& check);
bool can_load_jobs(const Check& check);

}  // namespace psim
