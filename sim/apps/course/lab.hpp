// A lab of the course: a folder with lab.toml, its text (README.md) and scenario files. Its numbers are drawn
// from the student's ID, so that students cannot copy answers. docs/course/teaching.md says how to write one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim::cli {

// A parameter: one of its values replaces {name} in texts and scenario files.
struct LabParameter {
  std::string name;
  std::vector<std::string> values;
};

// A scenario file of the lab, with overrides.
struct LabRun {
  std::string name, scenario;
  std::vector<std::string> sets;
};

struct LabQuestion {
  std::string name, asks;
  bool predict = false;  // answered before any run, and then locked
  // Expressions (model/base/formula.hpp) over parameters and runs. With one expression: the number, or the
  // number of the right choice, from 0. With one for each choice: the choices with the least value are right,
  // up to the tolerance.
  std::vector<std::string> answer;
  double tolerance = 0;  // as a share of the answer
  std::string unit;      // of the answer, such as ms; "%": the answer is a share, from 0 to 1; may be empty
  std::vector<std::string> choices = {};
  std::vector<std::string> hints = {};  // shown one after the other
  std::string
      because;       // shown when the question is settled; {= EXPRESSION} is a number from the student's runs
  std::string look;  // the run that explains the answer
  double points = 1;
  // Wrong answers to which a wrong idea leads: `value` is an expression as in `answer`, `says` what is wrong
  // with the idea. A right answer is never a misconception.
  struct Misconception {
    std::string value, says;
  };
  std::vector<Misconception> misconceptions = {};
  // The number that the student's own runs show for a prediction.
  struct Observation {
    std::string asks, value, unit;  // value: an expression
  } observe = {};
};
// The observation as a separate question, with the name observed.NAME.
LabQuestion observation_of(const LabQuestion& prediction);

// The right answer: a number, or any of these choices, counted from 0.
struct RightAnswer {
  double number = 0;
  std::vector<std::size_t> choices = {};
};

// The student's own scenario: a file that may override some fields of a given scenario. An expression gives
// its score.
struct LabDesign {
  std::string file, base;
  std::vector<std::string> may;  // fields, or tables ending with a dot
  std::string score;             // 0 to 1, an expression over parameters and the run `design`
  std::string within = "true";   // a condition that must hold, over the same
  std::int64_t seeds = 3;        // number of hidden seeds
  // Further values that `psim lab check` shows for each seed: a name and an expression over the same.
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

// The TOML of a file's text. Throws Refused with its first mistake, which has a hint or else `help`.
toml::table toml_in(const std::string& text, const fs::path& file, const char* help);

// "2" is the number of a lab. Throws Refused.
std::int64_t lab_number_in(const std::string& word);

// The labs that come with psim, or those of `folder`, by number. Throws Refused or Invalid, with the mistakes
// in a lab.toml.
std::vector<Lab> labs(const fs::path& folder = {});
// The lab with this number, with the choices of this student. Throws Refused if no lab has this number.
Lab lab_of(std::int64_t number, const fs::path& folder, std::string_view student);

// The values of a student's parameters. The same ID always gets the same values.
using Drawn = std::map<std::string, std::string, std::less<>>;
Drawn draw(const Lab& lab, std::string_view student);

// The scenario files of its runs, each once.
std::vector<std::string> scenario_files(const Lab& lab);

// `text` with the value of each {name}.
std::string filled(std::string text, const Drawn& drawn);
// A file of the lab's folder as students get it.
std::string given_out(const Lab& lab, const fs::path& file, const Drawn& drawn);

// The text of the lab between its first two headings: the student's cluster. Empty if it has no text.
std::string cluster_text(const Lab& lab, const Drawn& drawn);

// Finds mistakes in a lab.toml, such as references to missing things.

// One sentence for each mistake: names of runs and parameters in expressions, {names} in texts and scenario
// files, and names used twice.
std::vector<std::string> mistakes_in(const Lab& lab);

}  // namespace psim::cli
