// The checks of each subject. The table in check.cpp says in which order they run, and for which scenarios.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/checking/check.hpp"

namespace psim {

void check_features(const Check& check);  // check.cpp

// check_learning.cpp
void check_source(const Check& check);
void check_model(const Check& check);
void check_parameters(const Check& check);
void check_training(const Check& check);
void check_consistency(const Check& check);
// Whether the sizes of the model are known, so that psim can check them.
bool knows_model(const Check& check);

void check_devices(const Check& check);   // check_cluster.cpp
void check_memory(const Check& check);    // check.cpp
void check_filters(const Check& check);   // check_learning.cpp
void check_recovery(const Check& check);  // check_faults.cpp

// check_cluster.cpp
void check_cluster(const Check& check);
void check_compute(const Check& check);
// Reports numbers in `path`workers that no worker has.
void check_workers(const Check& check, const std::string& path, const std::vector<std::int64_t>& workers);
void check_stragglers(const Check& check);
void check_pace(const Check& check);
// Mean seconds of a step, for every machine, or one value for all; empty if their fields have errors.
std::vector<double> mean_steps(const Check& check);

void check_inference(const Check& check);     // check.cpp
void check_network(const Check& check);       // check_cluster.cpp
void check_architecture(const Check& check);  // check.cpp
void check_slowness(const Check& check);      // check_faults.cpp
void check_groups(const Check& check);        // check.cpp
void check_tasks(const Check& check);         // check.cpp

// check_cluster.cpp: start-up, power, spares and profiles
void check_nodes(const Check& check);

// check_faults.cpp
void check_faults(const Check& check);
// Checks that periodic faults leave the run time for progress. `clock`: the seconds of one clock.
void check_pace_of_faults(const Check& check, double clock);
// Whether a fault may have `name` among its nodes.
bool is_known(const ClusterSpec& cluster, const std::string& name);
// Reports a name in `field` that no node has; false: it did.
bool check_node_name(const Check& check, const std::string& field, const std::string& name);

}  // namespace psim
