// Checks the rows that a program adds to psim's tables.
#pragma once

#include <string>
#include <vector>

namespace psim {

// The errors of the tables' rows, one sentence each: a name of another row, a missing function, a setting
// with the key of another field of its table.
std::vector<std::string> wrong_rows();
// Throws std::logic_error with all errors. Checks only once.
void check_additions();

}  // namespace psim
