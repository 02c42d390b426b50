// A lab of the course: a folder with lab.toml, its text (README.md) and scenario files. Numbers in it are
// drawn from the student's ID, so that nobody can copy one. docs/course/teaching.md says how to write one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// One of these, as it stands in texts and scenario files for {name}.
struct LabParameter {
  std::string name;
  std::vector<std::string> values;
};

// A scenario file of the lab, with what is set beside.
struct LabRun {
  std::string name, scenario;
  std::vector<std::string> sets;
};

struct LabQuestion {
  std::string name, asks;
  bool predict = false;  // it is answered before anything is run, and stays
  // Expressions (model/formula.hpp) over parameters and runs. One: the number, or the number of the right
  // choice, from 0. One for each choice: those are right whose value is the least, up to the tolerance.
  std::vector<std::string> answer;
  double tolerance = 0;  // as a share of the answer
  std::string unit;      // of the answer, such as ms; "%": the answer is a share, from 0 to 1; may be empty
  std::vector<std::string> choices = {};
  std::vector<std::string> hints = {};  // one after the other
  std::string because;  // once it is settled; {= EXPRESSION} is a number of the student's runs
  std::string look;     // the run that shows why
  double points = 1;
  // What the student's own runs show of a prediction: a number.
  struct Observation {
    std::string asks, value, unit;  // value: an expression
  } observe = {};
};
// What a student reads off, as a question of its own: its name is observed.NAME.
LabQuestion observation_of(const LabQuestion& prediction);

// What is right: a number, or any of these choices, from 0.
struct RightAnswer {
  double number = 0;
  std::vector<std::size_t> choices = {};
};

// The student's own scenario: a file that may set some fields over another one, judged by an expression.
struct LabDesign {
  std::string file, base;
  std::vector<std::string> may;  // fields, or tables with a dot at the end
  std::string score;             // 0 to 1, over parameters and the run `design`
  std::string within;            // what must hold, over the same
  std::int64_t seeds = 3;        // hidden ones
  // What `psim lab check` shows beside the score of each seed: a name and an expression over the same.
  std::vector<std::pair<std::string, std::string>> shows;
  double points = 10;
};

struct Lab {
  fs::path folder;
  std::int64_t number = 0, minutes = 0;
  std::string title;
  std::vector<LabParameter> parameters;
  std::vector<LabRun> runs;
  std::vector<LabQuestion> questions;
  std::optional<LabDesign> design;

  double points() const;
};

// Throws Refused where a text of TOML nests too deeply to be read.
void refuse_deep(const std::string& text, const fs::path& file);

// The labs that come with psim, or those of `folder`, by number. Throws Refused, with what is wrong in a
// lab.toml.
std::vector<Lab> labs(const fs::path& folder = {});
// Throws Refused when there is none of this number.
// Its choices are those of this student.
Lab lab_of(std::int64_t number, const fs::path& folder, std::string_view student);

// The values of a student's parameters; the same ID has the same ones for ever.
using Drawn = std::map<std::string, std::string, std::less<>>;
Drawn draw(const Lab& lab, std::string_view student);

// The scenario files of its runs, each once.
std::vector<std::string> scenario_files(const Lab& lab);

// `text` with the value of each {name} in its place.
std::string filled(std::string text, const Drawn& drawn);
// A file of the lab's folder as it is given out.
std::string given_out(const Lab& lab, const fs::path& file, const Drawn& drawn);

}  // namespace psim::cli
