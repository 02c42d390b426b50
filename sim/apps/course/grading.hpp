// Grades a hand-in. The right answers are computed afresh from the student's ID, so no key could leak.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/apps/course/session.hpp"

namespace psim::cli {

// The points of a hand-in.
struct Grade {
  std::string file, student;
  std::string answers = {};  // all of them, as they were written
  std::int64_t lab = 0;
  double points = 0, possible = 0;
  struct Item {
    std::string name;
    double points = 0, possible = 0;
    std::string note;
    std::string given = {};  // the answer
    std::string right = {};  // what is right: for teachers
  };
  std::vector<Item> items;
  std::vector<std::string> findings;  // what is wrong with the file
};

// Computes its lab afresh; nothing is run for one that was edited. The hidden seeds of designs are drawn from
// `secret`. Throws Refused where the file is no hand-in.
Grade grade_of(const fs::path& file, const fs::path& course, const fs::path& scratch,
               const std::string& secret);

}  // namespace psim::cli
