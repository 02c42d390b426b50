// Draws the division of work among workers, and the delivery of samples, also with failures.
#include <fmt/format.h>

#include "sim/fuzz/generator.hpp"

namespace psim::fuzz {

void draw_work(Draft& draft, Victims& v, Dice& dice) {
  Table& training = draft["training"];
  const std::string_view what = dice.one_of({"dynamic", "stealing", "database", "moves"});
  v.shares_work = true;
  if (what == "dynamic" || what == "stealing") {
    std::erase_if(training.rows, [](const Row& row) { return row.key == "work"; });
    training.rows.push_back({"work", fmt::format("\"{}\"", what)});
    if (what == "dynamic") training.rows.push_back({"work_every", dice.number(1, 4)});
    else training.rows.push_back({"work_piece", std::string(dice.one_of({"0.25", "0.5"}))});
  }
  if (what == "database" || (what != "moves" && dice.chance(0.2))) {
    draft["data"].rows.push_back({"delivery", "\"database\""});
    draft["data"].rows.push_back({"prefetch", dice.number(0, 3)});
    draft["data"].rows.push_back({"bytes_per_sample", std::string(dice.one_of({"\"100B\"", "\"20kB\""}))});
    v.database = true;
  }
  if (!v.learns) return;
  if (dice.chance(0.5)) draft["data"].rows.push_back({"partition", "\"contiguous\""});
  if (v.database || (what != "moves" && dice.chance(0.7))) return;
  draft["recovery"].rows.push_back({"data_from", dice.text_of({"database", "workers"})});
  v.database = true;
}

}  // namespace psim::fuzz
