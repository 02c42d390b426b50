// A student's folder of one lab: what was drawn, what was answered, and what is locked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/apps/course/lab.hpp"

namespace psim::cli {

// Bytes of a hand-in, and so of a file whose text goes into it.
inline constexpr std::uintmax_t most_hand_in = 1'000'000;

// The ID of a student, in small letters: A1234567 and a1234567 are one student. Nothing where it is none.
std::optional<std::string> id_in(std::string student);
// A hash of all in it but "seal". It shows an edit; whoever knows how it is made can make another.
std::string seal_of(const Json& sealed);
// `text`, with a sign for each byte that is no UTF-8: a JSON document has no such bytes.
std::string as_utf8(const std::string& text);

class LabSession {
 public:
  // Throws Refused where something is at `folder`, or none can be made there.
  static void check_folder(const fs::path& folder);
  // Writes the lab's text and files, with this student's numbers, into a new folder.
  static void start(const Lab& lab, const std::string& student, const fs::path& folder,
                    const fs::path& course);
  // Throws Refused where the folder is none of a lab, or its answers.toml is no TOML.
  static LabSession open(const fs::path& folder);

  const fs::path& folder() const { return folder_; }
  std::int64_t lab() const { return state_["lab"]; }
  std::string student() const { return state_["student"]; }
  // The folder of its labs; empty: that of psim.
  std::string course() const { return state_["course"]; }
  // The answer to a question in answers.toml, or what was observed; nothing: it is still open.
  std::optional<std::string> answer(const LabQuestion& question) const;
  // Names in answers.toml that no question of this lab has.
  std::vector<std::string> answered_nowhere(const Lab& lab) const;
  // The design's file, as it is; nothing where there is none.
  std::optional<std::string> design(const LabDesign& design) const;

  // A prediction: the first answer that was checked.
  std::optional<std::string> locked(const std::string& question) const;
  void lock(const std::string& question, const std::string& answer);
  // The wrong answers to a question that were checked, one after the other.
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

}  // namespace psim::cli
