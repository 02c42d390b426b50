// A student's folder of one lab: drawn values, answers and locked predictions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/course/lab.hpp"
#include "sim/apps/course/solver.hpp"

namespace psim::cli {

// Largest size in bytes of a hand-in, and of each file whose text goes into it.
inline constexpr std::uintmax_t most_hand_in = 1'000'000;

// The ID of a student, in lower case: A1234567 and a1234567 are one student. Nothing if it is not an ID.
std::optional<std::string> id_in(std::string student);
// " Right within 20 %."; empty for a choice and for an exact number.
std::string right_within(const LabQuestion& question);
// Whether a reason has at least this many words. psim does not judge the reason.
inline constexpr int words_of_a_reason = 4;
bool is_reason(const std::string& text);
// A hash of all values except "seal". It reveals edits, but not by people who know how to compute it.
std::string seal_of(const Json& sealed);
// `text` with a replacement character for each byte that is not UTF-8, because JSON forbids such bytes.
std::string as_utf8(const std::string& text);

class LabSession {
 public:
  // Throws Refused if `folder` exists or cannot be made.
  static void check_folder(const fs::path& folder);
  // Writes the lab's text and files, with this student's numbers, into a new folder.
  static void start(const Lab& lab, const std::string& student, const fs::path& folder,
                    const fs::path& course);
  // Throws Refused if the folder is not a folder of a lab, or its answers.toml is not TOML.
  static LabSession open(const fs::path& folder);

  const fs::path& folder() const { return folder_; }
  std::int64_t lab() const { return state_["lab"]; }
  std::string student() const { return state_["student"]; }
  // The folder of its labs; empty: psim's labs.
  std::string course() const { return state_["course"]; }
  // The answer to a question in answers.toml, or the observation; nothing: still open.
  std::optional<std::string> answer(const LabQuestion& question) const;
  // The student's reason for a prediction: reason.NAME. Nothing if it is not a sentence.
  std::optional<std::string> reason(const std::string& question) const;
  // Names in answers.toml without a question in this lab.
  std::vector<std::string> answered_nowhere(const Lab& lab) const;
  // The text of the design's file; nothing if it does not exist.
  std::optional<std::string> design(const LabDesign& design) const;

  // A locked prediction: the first checked answer.
  std::optional<std::string> locked(const std::string& question) const;
  void lock(const std::string& question, const std::string& answer);
  // The checked wrong answers to a question, in order.
  std::vector<std::string> misses(const std::string& question) const;
  void miss(const std::string& question, const std::string& answer);

  const Json& state() const { return state_; }

 private:
  LabSession(fs::path folder, Json state, std::map<std::string, std::string> answers)
      : folder_(std::move(folder)), state_(std::move(state)), answers_(std::move(answers)) {}
  void save();

  fs::path folder_;
  Json state_;
  std::map<std::string, std::string> answers_;  // by question
};

// A hand-in: one file with a student's answers, scenarios and digests.

// The hand-in in `text`, from a file called `name`. Throws Refused if it is not a hand-in.
Json hand_in_in(const std::string& text, const std::string& name);

Json hand_in_of(const Lab& lab, const LabSession& session, LabSolver& solver);

// `psim lab` and `psim grade`.

// The options of `lab`. words: list | start NUMBER | check | status | hand-in | try NUMBER | exam NUMBER.
struct LabCommand {
  std::vector<std::string> words;
  std::string student, out, folder = ".", course;
  bool answers = false;
};
int lab(const LabCommand& command);

// The options of `grade`.
struct GradeCommand {
  std::vector<std::string> files;
  std::string csv, gradescope, junit, page, course, secret = "psim";
  double pass = 100;  // per cent
  unsigned jobs = 0;
  bool json = false, answers = false;
};
int grade(const GradeCommand& command);

// `psim lab check`: locks predictions, compares answers, and adds a hint for each wrong answer.

// Prints a line for each answer. Exit code 0: all answers are right, or predictions.
int check_answers(const Lab& lab, LabSession& session);

// The scenario files in a session's folder that differ from the originals.
std::vector<std::string> changed_files(const Lab& lab, const LabSession& session);

}  // namespace psim::cli
