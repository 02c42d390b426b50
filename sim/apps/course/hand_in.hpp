// A hand-in: one file with a student's answers, scenarios and digests. Whoever grades it computes the right
// answers afresh from the ID: there is no key that could leak.
#pragma once

#include <string>

#include "sim/apps/course/session.hpp"
#include "sim/apps/course/solver.hpp"

namespace psim::cli {

// Throws Refused where `text` is no hand-in: what `psim grade` would not take.
Json hand_in_in(const std::string& text, const std::string& name);

Json hand_in_of(const Lab& lab, const LabSession& session, LabSolver& solver);

// What a hand-in is worth.
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
