// Names and meanings of the events' tables, for `psim explain`, from the declarations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace psim {

// The meaning of a table, or of a value such as "refused"; empty if the name is unknown.
std::string explain_event(std::string_view name);
// The tables that have a column of this name, with its meaning in each; empty if no table has it.
std::string explain_event_column(std::string_view name);
// All names of tables, columns and values.
std::vector<std::string> event_words();

}  // namespace psim
