// Checks of the values of options. Some checks rewrite the value.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace psim::cli {

// An integer. CLI::Range would accept "1e3" and cut off digits that do not fit.
CLI::Validator whole(std::int64_t least, std::int64_t most);

CLI::Validator duration();   // "10min" becomes its seconds
CLI::Validator date();       // "300ms" and "0.3" become 0.3
CLI::Validator seed_list();  // "1-3,7" becomes "1,2,3,7"
// "5%" and "0.05" become the share. The bounds are shares, too.
CLI::Validator percentage(double least, double most);
// `what`: the kind of thing that the text names, such as "folder".
CLI::Validator existing_file();
CLI::Validator not_empty(const char* what);
CLI::Validator one_of(const std::vector<std::string>& names);

}  // namespace psim::cli
