// The grades of hand-ins, and what a teacher learns from those of a class: which questions were hard, and
// which wrong ideas the wrong answers come from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// The points of a hand-in. psim computes the right answers from the student's ID, so no answer key can leak.
struct Grade {
  std::string file, student;
  std::string answers = {};  // all answers, as the student wrote them
  std::int64_t lab = 0;
  double points = 0, possible = 0;
  // A readable wrong answer, as psim reads it.
  struct Wrong {
    std::string given;
    std::string misconception;    // what is wrong with its idea, as lab.toml says it; may be empty
    std::string told;             // the same with the student's numbers
    std::optional<double> ratio;  // the wrong number divided by the right one
  };
  struct Item {
    std::string name;
    double points = 0, possible = 0;
    std::string note;
    std::string asks = {};     // the question, with the student's numbers
    std::string given = {};    // the answer
    std::string right = {};    // the right answer, for teachers
    std::string reason = {};   // for a prediction
    std::size_t attempts = 0;  // checks with another answer or observation
    bool is_right = false;     // the answer, or the prediction
    std::vector<Wrong> wrong = {};
  };
  std::vector<Item> items;
  std::vector<std::string> findings;  // problems of the file
};

// The answers of a class to one question.
struct QuestionOfClass {
  std::int64_t lab = 0;
  std::string name, asks;  // with the numbers of the first student
  std::size_t students = 0, answered = 0, right = 0;
  double attempts = 0;  // of those who answered, their mean
  // The correlation of this question's points with the points for all other questions of the lab. Below about
  // 0.2 a question does not tell strong from weak students (Ebel, Measuring Educational Achievement, 1965).
  // Nothing: fewer than five students, or all have the same points.
  std::optional<double> discrimination;
  // Students with similar wrong answers, most students first; those that are like no other come last.
  struct Group {
    std::string what;
    std::vector<std::pair<std::string, std::string>> given;  // student and answer
  };
  std::vector<Group> wrong;
  // A student's reason, and whether the prediction was right.
  struct Reason {
    std::string student, text;
    bool is_right;
  };
  std::vector<Reason> reasons;
};
std::vector<QuestionOfClass> questions_of(const std::vector<Grade>& grades);
Json questions_json(const std::vector<Grade>& grades);

// A page for the teacher.
inline constexpr const char* grades_page_title = "A class and its answers";
std::string grades_page(const std::vector<Grade>& grades);

}  // namespace psim::cli
