// Describes each table of a scenario, in the file named above the function. fields.cpp combines the tables.
#pragma once

#include "sim/scenario/fields/field_parts.hpp"
#include "sim/scenario/fields/fields.hpp"

namespace psim {

// fields_architecture.cpp
void describe_architecture(FieldVisitor& visitor, Scenario& scenario);
// fields_learning.cpp
void describe_data(FieldVisitor& visitor, Scenario& scenario);
void describe_model(FieldVisitor& visitor, Scenario& scenario);
void describe_training(FieldVisitor& visitor, Scenario& scenario);
// fields_rhythm.cpp: the part of [training] about how often workers and servers exchange messages
void describe_rhythm(FieldVisitor& visitor, TrainingSpec& training);
// fields_work.cpp: the parts of [training] and [data] about which worker computes which samples
void describe_work(FieldVisitor& visitor, TrainingSpec& training);
void describe_delivery(FieldVisitor& visitor, Scenario& scenario);
// fields_consistency.cpp
void describe_consistency(FieldVisitor& visitor, Scenario& scenario);
// fields_messages.cpp
void describe_placement(FieldVisitor& visitor, PlacementSpec& placement);
void describe_messages(FieldVisitor& visitor, Scenario& scenario);
void describe_filter(FieldVisitor& visitor, FilterSpec& filter);
// fields_recovery.cpp
void describe_recovery(FieldVisitor& visitor, Scenario& scenario);
void describe_replication(FieldVisitor& visitor, ReplicationSpec& replication);
void describe_snapshot(FieldVisitor& visitor, SnapshotSpec& snapshot);
// fields_inference.cpp
void describe_inference(FieldVisitor& visitor, InferenceSpec& inference);
// fields_tasks.cpp
void describe_task(FieldVisitor& visitor, TaskSpec& task);
// fields_groups.cpp
void describe_group(FieldVisitor& visitor, GroupSpec& group);
// fields_devices.cpp
void describe_devices(FieldVisitor& visitor, Scenario& scenario);
// fields_cluster.cpp
void describe_cluster(FieldVisitor& visitor, Scenario& scenario);
void describe_compute(FieldVisitor& visitor, ComputeSpec& compute);
void describe_straggler(FieldVisitor& visitor, StragglerSpec& straggler);
// fields_nodes.cpp: start-up, price, power, speed and availability of nodes
void describe_startup(FieldVisitor& visitor, StartupSpec& startup, std::string_view table);
void describe_economy(FieldVisitor& visitor, EconomySpec& economy);
void describe_slow(FieldVisitor& visitor, Scenario& scenario);
void describe_profile(FieldVisitor& visitor, ProfileSpec& profile);
// fields_faults.cpp
void describe_fault(FieldVisitor& visitor, FaultSpec& fault);

}  // namespace psim
