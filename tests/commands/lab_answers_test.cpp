// What students write as answers: how psim reads it, and what it says of slips.
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/student.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

// Lab 1, except how long a step takes.
void predict(Student& student) {
  student.answer("weights", "38");
  student.answer("push_bytes", "304");
}

}  // namespace

TEST_CASE("labs: answers may have units, and are never misread", "[lab][slow]") {
  Student student(1, "a1");
  predict(student);
  const auto says = [&](const char* question, const std::string& text) {
    student.answer(question, text);
    const std::string out = student.check().out, line = "\n" + out;
    const std::size_t at = line.find("\n" + std::string(question) + " ");
    return line.substr(at + 1, line.find('\n', at + 1) - at - 1);
  };
  CHECK(says("step_ms", "about 3 ms").find("psim cannot read this: write a number: 1893 or 3.625, in ms") !=
        std::string::npos);
  CHECK(says("step_ms", "1,893").find("psim cannot read this") !=
        std::string::npos);  // one thousand, or nearly two?
  CHECK(says("step_ms", "3 MB").find("psim cannot read this") != std::string::npos);
  CHECK(says("step_ms", "0,0035 s").find("locked: 3.5 ms; now run it") != std::string::npos);
  CHECK(says("messages", "1.234,5").find("psim cannot read this") != std::string::npos);
  for (const char* text : {"6 bananas", "6 ms", "6 one", "6 m"})
    CHECK(says("messages", text).find("psim cannot read this") != std::string::npos);
  for (const char* text : {"1 message", "1 messages", "1 Messages"})
    CHECK(says("messages", text).find("not right: 1") != std::string::npos);
}

TEST_CASE("labs: a share is never misread, and slips are said", "[lab][slow]") {
  Student student(2, "A1");
  CHECK(content(student.folder() / "answers.toml").find("# Lab 2, a1.") ==
        0);  // one student, however written
  write(student.folder() / "answers.toml",
        "how_much_slower = \"13 864\"\nhow_long_fast_ones_wait = \"73\"\nshare_of_the_slow_one = \"5 "
        "%\"\noops = 1\n");
  write(student.folder() / "cluster.toml", content(student.folder() / "cluster.toml") + "# mine\n");
  const Outcome unread = student.check();
  CHECK(unread.out.find("locked: 13864; psim compares it") != std::string::npos);
  CHECK(unread.out.find("a share: 73 % or 0.73") != std::string::npos);  // neither 73 % nor 7300 %
  CHECK(unread.out.find("answers.toml has oops") != std::string::npos);
  CHECK(unread.out.find("cluster.toml has changed") != std::string::npos);
  const Outcome wrong = psim::test::psim({"lab", "hand-in", "--out", "h.json"}, student.folder());
  CHECK(wrong.out.find("open: one_backup, bsp_seconds, ssp_lead") != std::string::npos);
  CHECK(wrong.out.find("unreadable answers, which score 0") != std::string::npos);
  CHECK(wrong.out.find("does not have: oops") != std::string::npos);
  CHECK(wrong.out.find("changed files") != std::string::npos);
  const Json grade = graded(student.folder() / "h.json");
  CHECK(grade["findings"] == Json::array({"cluster.toml differs from the original"}));  // once, of seven runs
  write(student.folder() / "answers.toml", "bsp_seconds = true\n");
  CHECK(student.check().err.find("`bsp_seconds` is neither a number nor a text") != std::string::npos);
  fs::remove(student.folder() / "answers.toml");
  CHECK(student.check().code == 2);
}

TEST_CASE("labs: locks that were edited open no folder", "[lab]") {
  Student student(2, "a1");
  student.answer("how_much_slower", "2");
  student.check();
  const std::string state = content(student.folder() / "lab.json");
  const std::size_t at = state.find("\"how_much_slower\": \"2\"");
  REQUIRE(at != std::string::npos);
  write(student.folder() / "lab.json", std::string(state).replace(at, 22, "\"how_much_slower\": \"3\""));
  const Outcome check = student.check();
  CHECK(check.code == 2);
  CHECK(check.err.find("has changed since psim wrote it") != std::string::npos);
}

TEST_CASE("labs: wrong answers are counted, and shown", "[lab][slow]") {
  Student student(1, "a1");
  predict(student);
  student.answer("step_ms", "3");
  student.answer("messages", "1");
  student.check();
  CHECK(psim::test::psim({"lab", "status"}, student.folder()).out.find("not right (1 wrong so far: 1)") !=
        std::string::npos);
  student.answer("messages", student.run({"training.steps=2"})["messages"].get<double>() -
                                 student.run({})["messages"].get<double>());
  student.check();
  const Json grade = graded(student.hand_in());
  CHECK(grade["items"][4]["note"] == "right (1 wrong before)");
  CHECK(grade["items"][4]["points"] == 1);
}

TEST_CASE("labs: a design is judged seed by seed, within bounds", "[lab][slow]") {
  Student student(6, "a1");
  write(student.folder() / "design.toml", "[cluster]\nservers = 2\n");
  CHECK(student.check().out.find("design.toml             first predict what_helps_most") !=
        std::string::npos);
  student.answer("what_helps_most", "asp");
  const auto says = [&](const std::string& design, const std::vector<std::string>& parts) {
    write(student.folder() / "design.toml", design);
    const Outcome check = student.check();
    INFO(check.out);
    for (const std::string& part : parts) CHECK(check.out.find(part) != std::string::npos);
  };
  const std::string good =
      "[consistency]\nmodel = \"asp\"\n[training]\nlearning_rate = 0.5\n[cluster]\nservers = 3\n";
  says(good, {"score 100 %, over seeds 1 to 3", "seed   score   seconds   cents   cents at most"});
  says("[training]\nlearning_rate = 0.0001\n", {"design.toml             score 0 %", "never", "is not met"});
  says("[training]\nbatch_size = -1\n", {"scores 0 until it is fixed", "design.toml:2"});
  says("[training]\nsteps = 3\n", {"design.toml:2: a design must not set `training.steps`"});
  says("[cluster]\nservers = 4096\n", {"scores 0 until it is fixed"});
  says("[consistency]\nmodel = \"asp\"\n[training]\nlearning_rate = 0.5\n[cluster]\nservers = 6\n",
       {"design.toml             score 0 %", "is not met"});                             // fast, and too dear
  says("[training]\noptimizer = \"{seed}\"\n", {"`training.optimizer` is \"{seed}\""});  // and shows none
  CHECK_FALSE(fs::exists(student.folder() / "runs" / "reference"));  // our design is nobody's to copy
  const Json grade = graded(student.hand_in());
  CHECK(grade["items"].back()["points"] == 0);
}
