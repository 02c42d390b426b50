// Describes each table of a scenario, in the file named above the function. fields.cpp combines the tables.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/fields/fields.hpp"

namespace psim {

// Properties of a field, which its declaration lists after its sentence, in any order.

// The range of the values: including both bounds, excluding `min`, excluding `max`.
inline constexpr double most_workers = 100'000;

inline auto within(double min, double max) {
  return [=](FieldInfo& field) { field.min = min, field.max = max; };
}
inline auto above(double min, double max) {
  return [=](FieldInfo& field) { within(min, max)(field), field.above_min = true; };
}
inline auto below(double min, double max) {
  return [=](FieldInfo& field) { within(min, max)(field), field.below_max = true; };
}

inline void required(FieldInfo& field) { field.required = true; }
inline auto at_least(std::size_t elements) {
  return [elements](FieldInfo& field) { field.fewest = elements; };
}
inline void filled(FieldInfo& field) { at_least(1)(field); }

inline void or_number(FieldInfo& field) { field.or_number = true; }
inline void or_one(FieldInfo& field) { field.or_one = true; }

// The field has a meaning only if the choice `key` is one of `names`.
inline auto when(std::string_view key, std::vector<std::string_view> names) {
  return [=](FieldInfo& field) { field.when_key = key, field.when = names; };
}
inline void with_servers(FieldInfo& field) { when("architecture.kind", {"parameter-server"})(field); }
inline auto only(Need need) {
  return [need = std::move(need)](FieldInfo& field) { field.need = need; };
}
// Describes the default of an absent field.
inline auto otherwise(std::string_view text) {
  return [text](FieldInfo& field) { field.default_text = text; };
}

// fields_learning.cpp. Rhythm: how often workers and servers exchange messages. Work: which worker computes
// which samples.
void describe_architecture(FieldVisitor& visitor, Scenario& scenario);
void describe_data(FieldVisitor& visitor, Scenario& scenario);
void describe_model(FieldVisitor& visitor, Scenario& scenario);
void describe_training(FieldVisitor& visitor, Scenario& scenario);
void describe_rhythm(FieldVisitor& visitor, TrainingSpec& training);
void describe_work(FieldVisitor& visitor, TrainingSpec& training);
void describe_delivery(FieldVisitor& visitor, Scenario& scenario);
void describe_inference(FieldVisitor& visitor, InferenceSpec& inference);
void describe_group(FieldVisitor& visitor, GroupSpec& group);
// fields_consistency.cpp
void describe_consistency(FieldVisitor& visitor, Scenario& scenario);
void describe_task(FieldVisitor& visitor, TaskSpec& task);
// fields_messages.cpp
void describe_placement(FieldVisitor& visitor, PlacementSpec& placement);
void describe_messages(FieldVisitor& visitor, Scenario& scenario);
void describe_filter(FieldVisitor& visitor, FilterSpec& filter);
// fields_cluster.cpp. Nodes: start-up, price, power, speed and availability.
void describe_devices(FieldVisitor& visitor, Scenario& scenario);
void describe_cluster(FieldVisitor& visitor, Scenario& scenario);
void describe_compute(FieldVisitor& visitor, ComputeSpec& compute);
void describe_straggler(FieldVisitor& visitor, StragglerSpec& straggler);
void describe_startup(FieldVisitor& visitor, StartupSpec& startup, std::string_view table);
void describe_economy(FieldVisitor& visitor, EconomySpec& economy);
void describe_slow(FieldVisitor& visitor, Scenario& scenario);
void describe_profile(FieldVisitor& visitor, ProfileSpec& profile);
// fields_faults.cpp
void describe_recovery(FieldVisitor& visitor, Scenario& scenario);
void describe_replication(FieldVisitor& visitor, ReplicationSpec& replication);
void describe_snapshot(FieldVisitor& visitor, SnapshotSpec& snapshot);
void describe_fault(FieldVisitor& visitor, FaultSpec& fault);

}  // namespace psim
