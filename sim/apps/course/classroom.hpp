// A class that predicts together: the predictions of a lab, one after the other, and the answers of students.
// It keeps them in memory only, and knows no names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/apps/course/lab.hpp"

namespace psim::cli {

// The answers that one bar of a histogram counts.
struct AnswerBar {
  std::string label;
  std::size_t count = 0, right = 0;  // right: those that are right
  bool has_right = false;            // the right answer belongs to this bar
};
// A bar for each choice, or at most 12 bins of numbers. A number far from most others is in the first bin or
// the last. `answers` are readable; `right`: null before it is shown.
std::vector<AnswerBar> histogram(const LabQuestion& question, const std::vector<std::string>& answers,
                                 const RightAnswer* right);

class Classroom {
 public:
  // psim draws the numbers of the lab from `code`, and makes its runs in `scratch`, in another thread. Throws
  // Refused.
  Classroom(std::int64_t lab, const fs::path& course, std::string code, fs::path scratch);

  const std::string& code() const { return code_; }

  // "next", "previous", "close", "open" or "show". false: there is no such action.
  bool act(std::string_view what);
  // The state that a page shows. If it already has this version, only the version, and the number of students
  // present.
  Json for_teacher(std::uint64_t version);
  // Without the right answer until the teacher shows it.
  Json for_student(const std::string& student, std::uint64_t version);

  bool knows(const std::string& student);
  // A student asks. false: the class is full.
  bool admits(const std::string& student);
  // A student's answer to this question, counted from 1, in place of an earlier one. Why psim does not take
  // it; empty: it does.
  std::string answer(const std::string& student, std::size_t question, const std::string& text);

 private:
  enum class Stage { open, closed, shown };
  struct Prediction {
    LabQuestion question;
    Stage stage = Stage::open;
    std::map<std::string, std::string> answers = {};  // by student
    std::optional<RightAnswer> right = {};            // once psim has computed it
    std::string because = {}, error = {};
  };

  void solve(const fs::path& scratch, const std::stop_token& stop);
  Json shown_to_all(std::uint64_t version) const;

  std::string code_;
  Lab lab_;
  Drawn drawn_;
  std::string cluster_;  // the lab's text on the cluster
  std::mutex mutex_;     // of all below
  std::vector<Prediction> predictions_;
  std::size_t at_ = 0;
  // How often the state that pages show has changed: that of all pages, and the teacher's alone.
  std::uint64_t version_ = 1, answered_ = 0;
  std::map<std::string, double> seen_;  // when each student last asked
  std::jthread solves_;
};

}  // namespace psim::cli
