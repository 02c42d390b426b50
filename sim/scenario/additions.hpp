// Whether the rows that a program adds to psim's tables can be used.
#pragma once

#include <string>
#include <vector>

namespace psim {

// What is wrong with rows of the tables, one sentence each: a name that another row has, a function that is
// missing, a setting with the key of another field of its table.
std::vector<std::string> wrong_rows();
// Throws std::logic_error with all of them. Looks once.
void check_additions();

}  // namespace psim
