// The words of the events' tables, for `psim explain`: made from their declarations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace psim {

// What a table, or a value such as "refused", means; empty where there is none of this name.
std::string explain_event(std::string_view name);
// Which tables have a column of this name, and what it says in each of them; empty where none has.
std::string explain_event_column(std::string_view name);
// All names of tables, columns and values.
std::vector<std::string> event_words();

}  // namespace psim
