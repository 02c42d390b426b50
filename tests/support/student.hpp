// A student of the course in a test: a folder of a lab, with an ID of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/run_psim.hpp"

namespace psim::test {

void write(const std::filesystem::path& path, const std::string& text);

class Student {
 public:
  Student(int lab, const std::string& id);

  const std::filesystem::path& folder() const { return folder_; }
  // Writes it into answers.toml.
  void answer(const std::string& question, const std::string& text);
  void answer(const std::string& question, double number);
  // What the student's own run showed of a prediction, and a reason.
  void observe(const std::string& question, double number) {
    answer("observed." + question, number);
    answer("reason." + question, "The slowest part decides it.");
  }
  Outcome check();
  std::filesystem::path hand_in();
  // What a run of the text prints: psim run FILE --set ..., as the lab's README says.
  Json run(const std::vector<std::string>& sets);
  // The first number after `key` in the lab's scenario; of a date or a bandwidth without its unit.
  double number(const std::string& key);

 private:
  std::string scenario() const { return lab_ == 1 ? "step.toml" : "cluster.toml"; }

  TemporaryFolder place_;
  int lab_;
  std::string id_;
  std::filesystem::path folder_;
};

// What psim grade says of a hand-in.
Json graded(const std::filesystem::path& file);

}  // namespace psim::test
