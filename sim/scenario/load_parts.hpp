// Steps of loading that a scenario and a group's job share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/assignment.hpp"
#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

// The text of the file at `path`; nothing, and a diagnostic, if psim cannot read it.
std::optional<std::string> read_text(const std::string& path, Diagnostics& diagnostics);

// The file with the overrides put in.
std::optional<Document> read_request(const LoadRequest& request, Diagnostics& diagnostics);

// Moves the diagnostics of `found` that `diagnostics` does not have.
void merge(const Diagnostics& found, Diagnostics& diagnostics);

// Loads the data that `scenario` names, adapts its model to them, and checks both together. Returns nothing
// without data.
std::shared_ptr<const DataSplit> load_data_of(Scenario& scenario, const LoadRequest& request,
                                              const Reading& reading, const Check& check);

// Loads the data of a loaded scenario without groups again, for its seed. Throws DataError.
void load_data_again(LoadedScenario& loaded, const LoadRequest& request);

// load_axes.cpp
//
// Takes the axes of [compare] out of `document`.
std::vector<Axis> read_axes(Document& document, Diagnostics& diagnostics);
// Reports errors of the values themselves, in a scenario with the fields `base`. Takes the values.
void check_values(const toml::table& base, const Assignments& values, Diagnostics& diagnostics);
// Puts the values of the point that `request` names in `document`. They have a separate source, later than
// all others, because an axis overrides the file and --set.
void take_point(Document& document, const LoadRequest& request, Diagnostics& diagnostics);

// The fields, dotted, that the axes of a document vary.
std::vector<std::string> varied_fields(toml::table& compare);
// The axis whose values are tables with a name and any fields, dotted or in separate tables.
constexpr std::string_view arm_axis = "arm";

// load_traces.cpp
//
// Reads the files of step times, and gives each worker its column.
void load_traces(Scenario& scenario, const LoadRequest& request, const Check& check);

// load_traces.cpp
//
// Reads the files of profiles. Times in which a worker is not available become faults, with the place of
// their profile in `places`.
void load_profiles(Scenario& scenario, const LoadRequest& request, Reading& reading,
                   Diagnostics& diagnostics);
// Defaults that depend on other fields.
void settle_loops(Scenario& scenario);  // [training.inner] replaces fields of [training]
void settle_warmup(Scenario& scenario, const Reading& reading);
// With [tune] all runs and trials have the same test and validation sets. Otherwise a trial under another
// seed could learn from the test samples of the comparison.
void settle_split(Scenario& scenario, const Document& document);

// load_groups.cpp
//
// Gives groups without a number of workers equal shares of the remaining workers.
void share_workers(Scenario& scenario);
// The job of each namespace. `sources` has the sources from before `request` was read.
std::vector<LoadedJob> load_jobs(const Scenario& scenario, const LoadRequest& request,
                                 const Diagnostics& sources, Diagnostics& diagnostics);

// Reads the platform file of topology simgrid-xml into the scenario.
void load_platform(Scenario& scenario, const LoadRequest& request, const Check& check);

}  // namespace psim
