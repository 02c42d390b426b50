// What psim export does with runs and studies alike.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/export/exports.hpp"
#include "sim/apps/cli/understand.hpp"

namespace psim::cli {

// Throws Refused where something is that psim export did not write; with `force` only where it is no file.
void check_file(const fs::path& path, std::string_view mark, bool force);

// Throws Refused where charts must not be written to the folder --svg.
void check_charts_folder(const ExportCommand& asked, const fs::path& exported);

// Writes charts into the folder --svg, which is made where there is none. They are checked before.
void write_charts(const ExportCommand& asked, const std::vector<analysis::Picture>& pictures);

// Writes the charts of the study in `dir`. Throws Refused for what only a run can be exported as.
int export_study(const ExportCommand& asked, const fs::path& dir);

}  // namespace psim::cli
