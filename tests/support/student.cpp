#include "tests/support/student.hpp"

#include <fmt/format.h>

#include <fstream>
#include <regex>

#include "tests/support/catch.hpp"

namespace psim::test {

void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

Student::Student(int lab, const std::string& id) : lab_(lab), id_(id), folder_(place_.path() / "lab") {
  const Outcome start = psim::test::psim(
      {"lab", "start", std::to_string(lab), "--student", id, "--out", folder_.string()}, place_.path());
  INFO(start.err);
  REQUIRE(start.code == 0);
}

void Student::answer(const std::string& question, const std::string& text) {
  const std::regex line("(^|\n)" + question + " = \"[^\"]*\"");
  const std::string answers = content(folder_ / "answers.toml");
  REQUIRE(std::regex_search(answers, line));
  write(folder_ / "answers.toml", std::regex_replace(answers, line, "$1" + question + " = \"" + text + "\""));
}

void Student::answer(const std::string& question, double number) {
  answer(question, fmt::format("{:.10g}", number));
}

Outcome Student::check() { return psim::test::psim({"lab", "check"}, folder_); }

std::filesystem::path Student::hand_in() {
  const std::string file = fmt::format("lab{}-{}.json", lab_, id_);
  REQUIRE(psim::test::psim({"lab", "hand-in", "--out", file}, folder_).code == 0);
  return folder_ / file;
}

Json Student::run(const std::vector<std::string>& sets) {
  std::vector<std::string> words{"run", scenario(), "--json"};
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  const Outcome outcome = psim::test::psim(words, folder_);
  INFO(outcome.err);
  REQUIRE(outcome.code <= 1);
  return Json::parse(outcome.out);
}

double Student::number(const std::string& key) {
  std::smatch found;
  const std::string text = content(folder_ / scenario());
  REQUIRE(std::regex_search(text, found, std::regex("\n" + key + " = [\\[\"]?([0-9.]+)")));
  return std::stod(found[1]);
}

Json graded(const std::filesystem::path& file) {
  const Outcome outcome = psim::test::psim({"grade", file.string(), "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.code <= 1);
  return Json::parse(outcome.out)["grades"][0];
}

}  // namespace psim::test
