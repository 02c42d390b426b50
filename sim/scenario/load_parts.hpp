// The steps of loading a scenario that loading a group's takes as well.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

// The text of the file at `path`; nothing, and a diagnostic, when it cannot be had.
std::optional<std::string> read_text(const std::string& path, Diagnostics& diagnostics);

// The file with the overrides put in.
std::optional<Document> read_request(const LoadRequest& request, Diagnostics& diagnostics);

// Moves what `found` has and `diagnostics` has not.
void merge(const Diagnostics& found, Diagnostics& diagnostics);

// The data that `scenario` names, its model adapted to them and both checked together; nothing without data.
std::shared_ptr<const DataSplit> load_data_of(Scenario& scenario, const LoadRequest& request,
                                              const Reading& reading, const Check& check);

// load_axes.cpp
//
// The axes of [compare], whose values are taken out of `document`.
std::vector<Axis> read_axes(Document& document, Diagnostics& diagnostics);
// Reports what is wrong, by itself, with a value that is to be put at `key` of a scenario that has `base`.
void check_value(const toml::table& base, const std::string& key, const Place& place, toml::node& value,
                 Diagnostics& diagnostics);
// Puts the values of the point that `request` asks for in `document`. They stand in a source of their own,
// later than all others, because an axis goes before what the file and --set say.
void take_point(Document& document, const LoadRequest& request, Diagnostics& diagnostics);

// load_arms.cpp
//
// The axis whose values are tables of a name and any fields, dotted or in tables of their own.
constexpr std::string_view arm_axis = "arm";
// What a value of an axis sets: a field or a table of fields, whose key stands at `place`.
struct Assignment {
  std::string key;
  Place place;
  toml::node* value;
};
// In order of their keys; none of a node that is no arm.
std::vector<Assignment> assignments_of_arm(toml::node& arm);
// The name of an arm that was checked.
std::string name_of_arm(const toml::node& arm);
// Reports elements that are no tables, have no name of their own, or set a field twice.
void check_arms(toml::array& arms, Diagnostics& diagnostics);
// The dotted names of the fields that `value`, of field `key`, sets.
void add_fields(const std::string& key, const toml::node& value, std::set<std::string>& fields);
// Each of these fields as KEY=VALUE. A table without fields stands for itself.
void add_sets(const std::string& key, const toml::node& value, std::vector<std::string>& sets);

// load_profiles.cpp
//
// Reads the files of profiles. Times in which a worker is not available become faults, and `places` says of
// them where their profile is.
void load_profiles(Scenario& scenario, const LoadRequest& request, Reading& reading,
                   Diagnostics& diagnostics);
// What stands for fields that are not given and depends on others.
void settle_warmup(Scenario& scenario, const Reading& reading);
// With [tune] all runs, trials and others, set the same samples aside: a trial under another seed would learn
// from samples that the comparison is judged on.
void settle_split(Scenario& scenario, const Document& document);

// load_groups.cpp
//
// What groups set, as sources of `diagnostics`, one for each group, in order.
void add_group_sources(const Document& document, Diagnostics& diagnostics);
// Gives those that do not say how many workers they have an equal share of the rest.
void share_workers(Scenario& scenario);
// The job of each namespace. `sources` has the sources that were known before `request` was read.
std::vector<LoadedJob> load_jobs(const Scenario& scenario, const LoadRequest& request,
                                 const Diagnostics& sources, Diagnostics& diagnostics);

}  // namespace psim
