// What a teacher learns from the hand-ins of a class, sheets for exams, and the misconceptions of labs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/solutions.hpp"
#include "tests/support/student.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

double workers_of(Student& student) { return student.number("workers"); }

double weights_of(Student& student) {
  const Json run = student.run({});
  return run["bytes_by_kind"]["push"].get<double>() / 4 / workers_of(student);
}

const Json& question_in(const Json& document, const std::string& name) {
  const auto& all = document["questions"];
  const auto found = std::ranges::find_if(all, [&](const Json& one) { return one["name"] == name; });
  REQUIRE(found != all.end());
  return *found;
}

// The correlation of an item's points with the rest, from sums.
double discrimination(const Json& grades, const std::string& name) {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const Json& grade : grades) {
    double own = 0;
    for (const Json& item : grade["items"])
      if (item["name"] == name) own = item["points"];
    const double rest = grade["points"].get<double>() - own;
    n += 1, x += own, y += rest, xx += own * own, yy += rest * rest, xy += own * rest;
  }
  return (n * xy - x * y) / std::sqrt((n * xx - x * x) * (n * yy - y * y));
}

}  // namespace

TEST_CASE("labs: a teacher sees which questions were hard, and which ideas were wrong", "[lab][slow]") {
  std::list<Student> students;
  std::vector<std::string> words{"grade"};
  // The weights of all workers, about 1.5 times the answer, and the right one: twice each.
  constexpr double factors[] = {0, 0, 1.5, 1.52, 1, 1};
  for (std::size_t i = 0; i < std::size(factors); ++i) {
    Student& student = students.emplace_back(1, fmt::format("s{}", i));
    solve(1, student);
    student.answer("weights", (i < 2 ? workers_of(student) : factors[i]) * weights_of(student));
    if (i == 0) student.answer("messages", "1000");
    student.check();
    if (i == 1) student.answer("other_loss", "1000");
    words.push_back(student.hand_in().string());
  }
  const fs::path page = students.front().folder() / "class.html";
  words.insert(words.end(), {"--json", "--page", page.string()});
  CHECK_FALSE(Json::parse(psim::test::psim(words).out).contains("questions"));  // students may see this
  words.emplace_back("--answers");
  const Json document = Json::parse(psim::test::psim(words).out);
  const Json& weights = question_in(document, "weights");
  CHECK(weights["students"] == 6);
  CHECK(weights["answered"] == 6);
  CHECK(weights["right"] == 2);
  REQUIRE(weights["wrong"].size() == 2);
  CHECK(weights["wrong"][0]["what"] ==
        fmt::format(
            "All workers together push this many values. Each worker has the whole network, so divide by "
            "{}. (for s0)",
            workers_of(students.front())));
  CHECK(weights["wrong"][0]["given"].size() == 2);
  CHECK(weights["wrong"][0]["given"][0]["student"] == "s0");
  CHECK(weights["wrong"][1]["what"].get<std::string>().starts_with("1.5 to 1.52 times the right answer"));
  CHECK(weights["wrong"][1]["given"].size() == 2);
  CHECK(weights["reasons"].size() == 6);
  CHECK(weights["discrimination"].get<double>() ==
        Approx(discrimination(document["grades"], "weights")).margin(1e-9));
  CHECK(question_in(document, "push_bytes")["discrimination"].is_null());  // all have the same points
  CHECK(question_in(document, "messages")["attempts"] == Approx((5 + 2) / 6.0));
  CHECK(question_in(document, "other_loss")["wrong"][0]["what"] == "other answers");
  const std::string html = content(page);
  for (const char* part :
       {"All workers together push this many values", "The slowest part decides it.", "2 of 6", "s5"}) {
    INFO(part);
    CHECK(html.find(part) != std::string::npos);
  }
}

TEST_CASE("labs: half of a prediction's points need a reason, too", "[lab][slow]") {
  Student student(1, "a1");
  solve(1, student);
  student.answer("reason.weights", "so it is");
  student.check();
  const Json item = graded(student.hand_in())["items"][0];
  CHECK(item["points"] == 0.5);
  CHECK(item["note"] == "right, observed, no reason");
  const Outcome again = psim::test::psim({"lab", "hand-in", "--out", "h.json"}, student.folder());
  CHECK(again.out.find("predictions without a reason of one sentence") != std::string::npos);
}

TEST_CASE("labs: a wrong number says which idea was wrong", "[lab][slow]") {
  Student student(1, "a1");
  solve(1, student);
  student.check();
  const double workers = workers_of(student);
  const auto says = [&](const std::string& question, double number) {
    student.answer(question, number);
    return student.check().out;
  };
  CHECK(says("messages", 2 * workers).find("A pull and its answer are two messages") != std::string::npos);
  CHECK(says("messages", 2 * workers + 1).find("two messages") == std::string::npos);
  // A number within the tolerance, 15 %, is wrong if it is the number of a misconception.
  Student other(3, "a1");
  other.answer("mean_staleness", workers_of(other));
  other.answer("momentum_under_asp", "about the same");
  other.answer("best_cure", "nothing else changed");
  other.check();
  other.observe("mean_staleness", other.run({})["staleness"]["mean"]);
  const std::string told = other.check().out;
  INFO(told);
  CHECK(told.find("you predicted") != std::string::npos);
  CHECK(told.find("A worker's own push is not between its pull and its push.") != std::string::npos);
}

TEST_CASE("labs: a sheet for an exam has the questions of an ID, and its answers only on demand",
          "[lab][slow]") {
  const auto sheet = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"lab", "exam", "2", "--student", "exam-1"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = psim::test::psim(words);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const std::string plain = sheet({}), solved = sheet({"--answers"});
  CHECK(plain.find("`cluster.toml` is yours alone: ") != std::string::npos);
  CHECK(plain.find("1. Under bsp, how many times as long") != std::string::npos);
  CHECK(plain.find("After how many simulated seconds") == std::string::npos);  // needs a run
  CHECK(plain.find("Answer:") == std::string::npos);
  Student student(2, "exam-1");
  const double slower = step(student.run({})) / step(student.run({"straggler.0.slowdown=1.0"}));
  CHECK(solved.find(fmt::format("Answer: {:.6g}. ", slower)) != std::string::npos);
  CHECK(solved.find("Wrong: 1. Under a barrier") != std::string::npos);
  CHECK(plain.find("Right within 20 %. (1 point)") != std::string::npos);
  // No sheet calls its right choice wrong.
  for (const char* id : {"exam-1", "exam-2", "exam-3"}) {
    const Outcome key = psim::test::psim({"lab", "exam", "2", "--student", id, "--answers"});
    const bool is_short = key.out.find("Answer: nearly as long as without slow workers") != std::string::npos;
    INFO(key.out);
    CHECK((key.out.find("Wrong: nearly as long as without slow workers") == std::string::npos) == is_short);
    CHECK((key.out.find("Wrong: nearly as long as under bsp") == std::string::npos) != is_short);
  }
  CHECK(psim::test::psim({"lab", "exam", "2"}).err.find("the ID of the student is missing") !=
        std::string::npos);
}

TEST_CASE("labs: a misconception without a value, or that is right, is the author's mistake", "[lab][slow]") {
  const TemporaryFolder folder;
  const auto tried = [&](const std::string& value) {
    write(folder.path() / "lab.toml",
          "lab = 7\ntitle = \"T\"\nminutes = 5\n[[run]]\nname = \"one\"\nscenario = \"c.toml\"\n"
          "[[question]]\nname = \"q\"\nasks = \"?\"\nbecause = \".\"\nanswer = \"one.steps\"\n"
          "misconceptions = [{ value = \"" +
              value + "\", says = \"Not {=one.steps + 1}.\" }]\n");
    write(folder.path() / "README.md", "# A lab\n");
    write(folder.path() / "c.toml",
          "[model]\nkind = \"phantom\"\nparameters = 10\n[training]\nsteps = 1\n[cluster]\nworkers = 2\n");
    const Outcome outcome = psim::test::psim({"lab", "try", "7", "--course", folder.path().string()});
    return outcome.out + outcome.err;
  };
  CHECK(tried("one.steps").find("the misconception one.steps of q, which is always right") !=
        std::string::npos);
  CHECK(tried("one.steps + 1").find("wrong") == std::string::npos);
  CHECK(tried("one.oops").find("wrong: no value of the misconception one.oops of q") != std::string::npos);
  write(folder.path() / "lab.toml",
        "lab = 7\ntitle = \"T\"\nminutes = 5\n[[question]]\nname = \"q\"\nasks = \"?\"\nbecause = "
        "\".\"\nanswer = \"1\"\nmisconceptions = \"x\"\n");
  CHECK(psim::test::psim({"lab", "list", "--course", folder.path().string()})
            .err.find("write [[question.misconceptions]] with double brackets") != std::string::npos);
  CHECK(tried("nobody.steps").find("`misconceptions` of question `q`: `nobody.steps` is neither") !=
        std::string::npos);
}
