// The parts of psim export that runs and studies share.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/export/exports.hpp"
#include "sim/apps/cli/further.hpp"
#include "sim/apps/cli/understand.hpp"

namespace psim::cli {

// Throws Refused if `path` exists and psim export did not write it; with `force` only if it is not a file.
void check_file(const fs::path& path, std::string_view mark, bool force);

// Throws Refused if psim must not write charts to the folder of --svg.
void check_charts_folder(const ExportCommand& asked, const fs::path& exported);

// Writes charts into the folder of --svg. Makes the folder if needed. The files are already checked.
void write_charts(const ExportCommand& asked, const std::vector<analysis::Picture>& pictures);

// Makes a folder that the user gave as `given`. Throws Refused.
void make_folder(const fs::path& folder, const std::string& given);

// Writes the last weights of the run in `dir`. Throws Refused.
void export_weights(const ExportCommand& asked, const fs::path& dir);

// Writes the charts of the study in `dir`. Throws Refused for formats that only runs have.
int export_study(const ExportCommand& asked, const fs::path& dir);

}  // namespace psim::cli
