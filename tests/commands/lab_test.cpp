// The labs of the course: solved from their text alone, by right and by typically wrong answers, and graded.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/solutions.hpp"
#include "tests/support/student.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

TEST_CASE("labs: each is solved from its text", "[lab][slow]") {
  for (int lab = 1; lab <= 6; ++lab) {
    for (const std::string id : {"a1234567", "b.c@uni"}) {
      INFO("lab " << lab << " of " << id);
      Student student(lab, id);
      solve(lab, student);
      const Outcome check = student.check();
      INFO(check.out);
      CHECK(check.code == 0);
      const Json grade = graded(student.hand_in());
      INFO(grade.dump(2));
      CHECK(grade["points"] == grade["possible"]);
      CHECK(grade["findings"].empty());
    }
  }
}

TEST_CASE("labs: the arithmetic of lab 2's text is right for every student", "[lab][slow]") {
  // Nothing here depends on when psim evaluates: s1's runs see the target after 63 and after 79 updates.
  for (int i = 1; i <= 16; ++i) {
    Student student(2, fmt::format("s{}", i));
    const Reckoned guess = reckoned(student);
    const Json even = student.run({"straggler.0.slowdown=1.0"}), bsp = student.run({}),
               asp = student.run({"consistency=asp"});
    INFO("s" << i);
    CHECK(guess.slower == Approx(step(bsp) / step(even)).epsilon(0.2));
    CHECK(guess.waits == Approx(bsp["workers"][0]["wait_share"].get<double>()).epsilon(0.07));
    CHECK(guess.slow_share == Approx(share_of_slow(student, asp)).epsilon(0.25));
  }
}

TEST_CASE("labs: no answer is right for all students", "[lab][slow]") {
  for (int lab = 1; lab <= 6; ++lab) {
    const Outcome tried = psim::test::psim({"lab", "try", std::to_string(lab)});
    INFO(tried.out << tried.err);
    CHECK(tried.code == 0);
    CHECK(tried.out.find("one answer is right for all") == std::string::npos);
  }
}

TEST_CASE("labs: predictions come first, and stay", "[lab][slow]") {
  Student student(2, "a1");
  student.answer("bsp_seconds", "2.5");
  const Outcome early = student.check();
  CHECK(early.code == 1);
  CHECK(early.out.find(
            "first predict how_much_slower, how_long_fast_ones_wait, share_of_the_slow_one, one_backup") !=
        std::string::npos);
  student.answer("how_much_slower", "1");  // that it does not matter
  student.answer("how_long_fast_ones_wait", "none");
  student.answer("share_of_the_slow_one", "40 %");
  student.answer("one_backup", "nearly as long as under bsp");
  const Outcome unread = student.check();
  CHECK(unread.out.find("psim cannot read this: write a share: 73 % or 0.73") != std::string::npos);
  CHECK(unread.out.find("locked: 1; psim compares it after all predictions") != std::string::npos);
  student.answer("how_long_fast_ones_wait", "0 %");
  student.observe("how_much_slower", step(student.run({})) / step(student.run({"straggler.0.slowdown=1.0"})));
  CHECK(student.check().out.find("you predicted 1; it is ") != std::string::npos);
  student.answer("how_much_slower", "3.5");
  const std::string told = student.check().out, is = "you predicted 1; it is ";
  CHECK(told.find("(your first prediction counts: 1)") != std::string::npos);
  student.answer("how_much_slower", std::stod(told.substr(told.find(is) + is.size())));
  student.check();  // what is right now was not predicted
  const Json grade = graded(student.hand_in());
  CHECK(grade["items"][0]["points"] == 0.5);  // wrong, and observed
  CHECK(grade["items"][0]["note"] == "not right: 1, observed");
  CHECK(grade["items"][1]["points"] == 0);  // wrong, and not observed
}

TEST_CASE("labs: an answer is told once the student's own run has shown it", "[lab][slow]") {
  Student student(2, "a1");
  student.answer("how_much_slower", "1");
  student.answer("how_long_fast_ones_wait", "0 %");
  student.answer("share_of_the_slow_one", "100 %");
  student.answer("one_backup", "nearly as long as under bsp");
  const Json even = student.run({"straggler.0.slowdown=1.0"}), bsp = student.run({});
  const double slower = step(bsp) / step(even);
  const auto tells = [&](const Outcome& check) {
    INFO(check.out);
    CHECK(check.code == 1);
    CHECK(check.out.find("you predicted") == std::string::npos);
    CHECK(check.out.find(fmt::format("{:.3g}", slower)) == std::string::npos);
    return check.out;
  };
  const auto has = [](const std::string& out, const std::string& part) {
    INFO(out);
    CHECK(out.find(part) != std::string::npos);
  };
  const std::string locked = tells(student.check());
  has(locked, "how_much_slower         locked: 1; now run it and fill in observed.how_much_slower");
  has(locked, "  psim run cluster.toml --set straggler.0.slowdown=1.0\n");
  has(locked,
      "locked until your own runs show the right answer, and you write why: how_much_slower, "
      "how_long_fast_ones_wait, share_of_the_slow_one, one_backup");
  CHECK(locked.find("hint 1") == std::string::npos);
  student.answer("observed.how_much_slower", "junk");
  has(tells(student.check()), "observed.how_much_slower psim cannot read this");
  // Near enough for a prediction, and not what a run shows.
  student.answer("observed.how_much_slower", 1.03 * slower);
  const std::string wrong = tells(student.check());
  has(wrong, "your runs do not show");
  has(wrong, "hint 1: the column `step [ms]` of both runs");
  CHECK(wrong.find("hint 2") == std::string::npos);
  student.answer("observed.how_much_slower", 2 * slower);
  has(tells(student.check()), "hint 2: divide");
  student.answer("observed.how_much_slower", fmt::format("{:.3g}", slower));  // as a student rounds it
  for (const char* reason : {"", "because it is"}) {
    student.answer("reason.how_much_slower", reason);
    has(student.check().out,
        "why is it so? Write one sentence, of 4 words or more, after reason.how_much_slower");
    CHECK(student.check().out.find("you predicted") == std::string::npos);
  }
  student.answer("reason.how_much_slower", "The barrier waits for the slow one.");
  const std::string settled = student.check().out;
  has(settled, "you predicted 1; it is ");
  has(settled, "Under a barrier all workers wait for the slow one, in every step.");  // the idea behind 1
  write(student.folder() / "answers.toml",
        content(student.folder() / "answers.toml") + "observed.oops = 1\n");
  has(student.check().out, "answers.toml has observed.oops, but this lab has no such question");
  CHECK_FALSE(fs::exists(student.folder() / "runs" / "bsp"));  // the student's runs are the student's
}

TEST_CASE("labs: what nobody answered earns nothing, a prediction that was never made neither",
          "[lab][slow]") {
  Student student(2, "nobody");
  const Json grade = graded(student.hand_in());
  REQUIRE(grade["items"].size() > 0);
  for (const Json& item : grade["items"]) {
    INFO(item.dump());
    CHECK(item["points"] == 0);
  }
  Student late(2, "late");  // runs first, and predicts nothing
  late.observe("how_much_slower", step(late.run({})) / step(late.run({"straggler.0.slowdown=1.0"})));
  const Json item = graded(late.hand_in())["items"][0];
  CHECK(item["points"] == 0);
  CHECK(item["note"] == "no answer");
}

TEST_CASE("labs: wrong answers get one hint after the other", "[lab][slow]") {
  Student student(1, "a1");
  student.answer("weights", "12");  // neurons that are no inputs, and not weights
  student.answer("push_bytes", "152");
  student.answer("step_ms", "3");
  student.answer("messages", "4");
  const auto hints = [&] {
    const std::string out = student.check().out;
    return std::pair(out.find("hint 1: run step.toml") != std::string::npos,
                     out.find("hint 2: each worker") != std::string::npos);
  };
  CHECK(hints() == std::pair(true, false));
  CHECK(hints() == std::pair(true, false));  // the same answer again
  student.answer("messages", "5");
  CHECK(hints() == std::pair(true, true));
  solve(1, student);
  CHECK(student.check().code == 0);
  student.answer("messages", "5");  // what was right once is not any more
  CHECK(student.check().code == 1);
}

TEST_CASE("labs: a hand-in that was edited or copied is found", "[lab][slow]") {
  Student one(4, "one"), two(4, "two");
  solve(4, one);
  solve(4, two);
  one.check();
  two.check();
  const fs::path file = one.hand_in();
  Json edited = Json::parse(content(file));
  edited["answers"]["ring_bytes"] = "1";
  write(file, edited.dump());
  const Json grade = graded(file);
  CHECK(grade["findings"][0].get<std::string>().find("it was edited") != std::string::npos);
  CHECK(grade["points"] == 0);
  Json stolen = Json::parse(content(two.hand_in()));
  stolen["student"] = "three";
  const fs::path copy = one.folder() / "copy.json";
  write(copy, stolen.dump());
  CHECK(graded(copy)["findings"].size() == 1);  // the seal; nothing is run for it
  const Outcome both = psim::test::psim({"grade", two.hand_in().string(), copy.string()});
  CHECK(both.code == 1);
  CHECK(both.out.find("its answers are the same as those of two") != std::string::npos);
  const std::string again = two.hand_in().string();
  CHECK(psim::test::psim({"grade", again, again}).out.find("has also handed in") != std::string::npos);
  Student first(1, "two");
  const Outcome labs = psim::test::psim({"grade", again, first.hand_in().string()});
  CHECK(labs.out.find("has also handed in") == std::string::npos);
  // Nobody is reported for knowing as little as another one, nor for a good guess.
  Student x(2, "x"), y(2, "y");
  const Outcome unanswered = psim::test::psim({"grade", x.hand_in().string(), y.hand_in().string()});
  CHECK(unanswered.out.find("its answers") == std::string::npos);
}

TEST_CASE("labs: grades in every form", "[lab][slow]") {
  Student student(1, "a1");
  solve(1, student);
  student.check();
  const fs::path file = student.hand_in(), folder = student.folder();
  const Outcome outcome =
      psim::test::psim({"grade", file.string(), "--csv", (folder / "g.csv").string(), "--gradescope",
                        (folder / "results.json").string(), "--junit", (folder / "g.xml").string()});
  CHECK(outcome.code == 0);
  CHECK(content(folder / "g.csv").find("a1,1,7,7,") != std::string::npos);
  const Json results = Json::parse(content(folder / "results.json"));
  CHECK(results["score"] == 7.0);
  CHECK(results["tests"].size() == 7);
  CHECK(results["tests"][0]["max_score"] == 1.0);
  CHECK(content(folder / "g.xml").find("tests=\"7\" failures=\"0\"") != std::string::npos);
  CHECK(results["tests"][0]["output"] == "right, observed");
  student.answer("messages", "1");
  student.check();
  const std::string again = student.hand_in().string();
  CHECK(psim::test::psim({"grade", again}).code == 1);
  CHECK(psim::test::psim({"grade", again, "--pass", "80"}).code == 0);
}

TEST_CASE("labs: no form of a grade that students see has a right answer", "[lab][slow]") {
  Student student(4, "a1");
  for (const char* question :
       {"step_seconds", "four_servers", "bytes_of_a_step", "ring_bytes", "half_the_bytes"})
    student.answer(question, "999");
  student.answer("ring_or_servers", "one server");
  student.check();
  const fs::path file = student.hand_in(), folder = student.folder();
  const std::vector<std::string> words{"grade",        file.string(),
                                       "--junit",      (folder / "g.xml").string(),
                                       "--csv",        (folder / "g.csv").string(),
                                       "--gradescope", (folder / "r.json").string()};
  std::string seen = psim::test::psim(words).out + psim::test::psim({"grade", file.string(), "--json"}).out;
  for (const char* name : {"g.xml", "g.csv", "r.json"}) seen += content(folder / name);
  const Outcome told = psim::test::psim({"grade", file.string(), "--json", "--answers"});
  for (const Json& item : Json::parse(told.out)["grades"][0]["items"]) {
    const std::string right = item["right"];
    INFO(right);
    CHECK(!right.empty());
    CHECK(seen.find(right) == std::string::npos);
  }
  CHECK(seen.find("right is") == std::string::npos);
  const Outcome table = psim::test::psim({"grade", file.string(), "--answers"});
  CHECK(table.out.find("not right: 999") != std::string::npos);
  CHECK(table.out.find("right is ") != std::string::npos);
}

TEST_CASE("labs: nonsense is refused", "[lab][slow]") {
  const TemporaryFolder folder;
  const auto says = [&](const std::vector<std::string>& words, const std::string& what) {
    const Outcome outcome = psim::test::psim(words, folder.path());
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find(what) != std::string::npos);
  };
  says({"lab", "start"}, "the number of the lab is missing");
  says({"lab", "start", "9", "--student", "a"}, "no lab 9");
  says({"lab", "start", "x", "--student", "a"}, "is not the number of a lab");
  says({"lab", "start", "1", "--student", "../../etc"}, "is not a valid ID of a student");
  says({"lab", "start", "1"}, "the ID of the student is missing");
  says({"lab", "check"}, "not a folder of a lab");
  says({"lab", "dance"}, "unknown command `dance` of psim lab");
  write(folder.path() / "lab.json", "{\"format\": 3}");
  says({"lab", "check"}, "has changed since psim wrote it");
  for (const std::string& text :
       std::vector<std::string>{"", "{}", "[1]", "{\"format\": \"psim.hand-in/1\", \"lab\": 1}"}) {
    write(folder.path() / "hand.json", text);
    const Outcome outcome = psim::test::psim({"grade", "hand.json"}, folder.path());
    CHECK(outcome.code == 1);
    CHECK(outcome.out.find("is not a hand-in") != std::string::npos);
    CHECK(outcome.out.find("-          -          -  hand.json") != std::string::npos);  // nobody's
  }
  says({"grade", "a.json", "b.json"}, "these files do not exist: a.json, b.json");
  says({"grade"}, "psim grade needs hand-ins");
  const Outcome pile = psim::test::psim({"grade", "a.json", "hand.json", "--csv", "g.csv"}, folder.path());
  CHECK(pile.code == 1);  // one that is missing stops no pile
  CHECK(content(folder.path() / "g.csv").find(",,,,a.json,a.json: cannot be read: No such file") !=
        std::string::npos);
}
