// Grades a hand-in. psim computes the right answers from the student's ID, so no answer key can leak.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/apps/course/session.hpp"

namespace psim::cli {

// The points of a hand-in.
struct Grade {
  std::string file, student;
  std::string answers = {};  // all answers, as the student wrote them
  std::int64_t lab = 0;
  double points = 0, possible = 0;
  struct Item {
    std::string name;
    double points = 0, possible = 0;
    std::string note;
    std::string given = {};  // the answer
    std::string right = {};  // the right answer, for teachers
  };
  std::vector<Item> items;
  std::vector<std::string> findings;  // problems of the file
};

// Grades a hand-in by the runs of its lab. Runs nothing if the hand-in was edited. Draws the hidden seeds of
// designs from `secret`. Throws Refused if the file is not a hand-in.
Grade grade_of(const fs::path& file, const fs::path& course, const fs::path& scratch,
               const std::string& secret);

}  // namespace psim::cli
