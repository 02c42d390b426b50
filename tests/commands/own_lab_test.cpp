// A lab that a teacher writes: its folder, what it may ask, and what psim says of mistakes in it.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/student.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* own_lab = R"(
lab = 7
title = "My own"
minutes = 5

[parameters]
workers = [2, 3]

[[run]]
name = "one"
scenario = "cluster.toml"

[[run]]
name = "same"
scenario = "cluster.toml"

[[run]]
name = "longer"
scenario = "cluster.toml"
set = ["training.steps=2"]

[[question]]
name = "first"
asks = "Which of {workers} is first?"
choices = ["longer", "one", "same"]
answer = ["longer.sim_time_s", "one.sim_time_s", "same.sim_time_s"]
because = "It is."
)";

void write_own_lab(const fs::path& folder, const std::string& text) {
  fs::create_directories(folder / "mine");
  write(folder / "mine" / "lab.toml", text);
  write(folder / "mine" / "README.md", "# {workers} workers\n");
  write(folder / "mine" / "cluster.toml",
        "[model]\nkind = \"phantom\"\nparameters = 10\n[training]\nsteps = 1\n"
        "[cluster]\nworkers = {workers}\nservers = 1\n");
}

}  // namespace

TEST_CASE("labs: of one's own, where two choices are equally right", "[lab][slow]") {
  const TemporaryFolder folder;
  write_own_lab(folder.path(), own_lab);
  const auto run = [&](const std::vector<std::string>& words) {
    return psim::test::psim(words, folder.path());
  };
  REQUIRE(run({"lab", "start", "7", "--student", "a1", "--course", "."}).code == 0);
  CHECK(content(folder.path() / "lab7" / "README.md") != "# {workers} workers\n");
  for (const auto& [answer, code] : {std::pair("one", 0), std::pair("same", 0), std::pair("longer", 1)}) {
    write(folder.path() / "lab7" / "answers.toml", fmt::format("first = \"{}\"\n", answer));
    const Outcome check = run({"lab", "check", "--in", "lab7"});  // the folder knows its course
    INFO(check.out << check.err);
    CHECK(check.out.find(code == 0 ? "right" : "not right") != std::string::npos);
    REQUIRE(run({"lab", "hand-in", "--in", "lab7", "--out", "h.json"}).code == 0);
    const Outcome grade = run({"grade", "h.json", "--course", ".", "--answers"});
    INFO(grade.out << grade.err);
    CHECK(grade.code == code);
    CHECK(grade.out.find("right is one or same") != std::string::npos);
    CHECK((grade.out.find("not right: longer") != std::string::npos) == (code == 1));
  }
}

TEST_CASE("labs: what a lab.toml names and does not have is said at once", "[lab]") {
  const TemporaryFolder folder;
  std::string text(own_lab);
  const auto replace = [&text](const std::string& old, const std::string& now) {
    REQUIRE(text.find(old) != std::string::npos);
    text.replace(text.find(old), old.size(), now);
  };
  replace("{workers} is first", "{worker} is first");
  replace("\"longer.sim_time_s\"", "\"long.sim_time_s +\"");
  replace("name = \"same\"", "name = \"one\"");
  replace("because = \"It is.\"", "look = \"nowhere\"\nbecause = \"{=nobody.steps}\"");
  write_own_lab(folder.path(), text);
  const auto said = [&] {
    const Outcome outcome = psim::test::psim({"lab", "list", "--course", "."}, folder.path());
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  const std::string all = said();
  INFO(all);
  for (const char* part :
       {"unknown parameter `worker`", "`long.sim_time_s` is neither a parameter nor a value of a run",
        "something is missing at the end", "run `one` occurs twice", "unknown run `nowhere` in `look`",
        "`same.sim_time_s` is neither", "`because` of question `first`: `nobody.steps` is neither"})
    CHECK(all.find(part) != std::string::npos);
  write_own_lab(folder.path(), std::string(own_lab) + "hint = [\"x\"]\n");
  CHECK(said().find("unknown key `hint`") != std::string::npos);
  write_own_lab(folder.path(), std::string(own_lab) + "unit = 3\n");
  CHECK(said().find("`question.0.unit` has the wrong type") != std::string::npos);
}

TEST_CASE("labs: an answer that is no number is the author's mistake, and costs nobody anything",
          "[lab][slow]") {
  const TemporaryFolder folder;
  const auto run = [&](const std::vector<std::string>& words) {
    return psim::test::psim(words, folder.path());
  };
  const std::string number = std::string(own_lab) +
                             "[[question]]\nname = \"gain\"\nasks = \"How much?\"\nbecause = \"So.\"\nanswer "
                             "= \"one.sim_time_s / 0\"\n";
  write_own_lab(folder.path(), number);
  const Outcome tried = run({"lab", "try", "7", "--course", "."});
  INFO(tried.out << tried.err);
  CHECK(tried.code == 1);
  CHECK(tried.out.find("trial-1  seed = ") != std::string::npos);
  CHECK(tried.out.find("workers = 2") != std::string::npos);  // each value is tried
  CHECK(tried.out.find("workers = 3") != std::string::npos);
  CHECK(tried.out.find("question `gain` of lab 7 has no right answer") != std::string::npos);
  REQUIRE(run({"lab", "start", "7", "--student", "a1", "--course", "."}).code == 0);
  write(folder.path() / "lab7" / "answers.toml", "first = \"one\"\ngain = 5\n");
  REQUIRE(run({"lab", "hand-in", "--in", "lab7", "--out", "h.json"}).code == 0);
  const Json grade = Json::parse(run({"grade", "h.json", "--course", ".", "--json"}).out)["grades"][0];
  CHECK(grade["student"] == "a1");
  CHECK(grade["points"] == 1);
  CHECK(grade["possible"] == 1);
  CHECK(grade["findings"][0].get<std::string>().find("has no right answer") != std::string::npos);
}

TEST_CASE("labs: a run that is stuck has no end", "[lab][slow]") {
  const TemporaryFolder folder;
  std::string text(own_lab);
  text.replace(text.find("set = [\"training.steps=2\"]"), 26,
               "set = ['fault=[{kind=\"crash\", nodes=[\"server 0\"], at=\"0ms\"}]']");
  text += "[[question]]\nname = \"end\"\nasks = \"When?\"\nbecause = \".\"\nanswer = \"longer.sim_time_s\"\n";
  write_own_lab(folder.path(), text);
  const Outcome tried = psim::test::psim({"lab", "try", "7", "--course", "."}, folder.path());
  INFO(tried.out << tried.err);
  CHECK(tried.code == 1);
  CHECK(tried.out.find("question `end` of lab 7 has no right answer") != std::string::npos);
  CHECK(tried.out.find("one or same") != std::string::npos);
  CHECK(tried.out.find("IDs: first\n") != std::string::npos);
}

TEST_CASE("labs: what cannot be graded is refused in lab.toml", "[lab]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& more, const char* what) {
    write_own_lab(folder.path(), std::string(own_lab) + more);
    const Outcome outcome = psim::test::psim({"lab", "list", "--course", "."}, folder.path());
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find(what) != std::string::npos);
  };
  refused("points = -1\n", "`question.0.points` is -1");
  refused("tolerance = -0.5\n", "`question.0.tolerance` is -0.5");
  refused("points = nan\n", "`question.0.points` is nan");
  refused("predict = true\n", "`first` predicts a choice: `observe = { asks = ..., value = ... }` must say");
  refused("observe = { asks = \"?\", value = \"1\" }\n", "`observe` belongs to a prediction");
  refused("predict = true\nobserve = { asks = \"?\", value = \"two.steps\" }\n", "`two.steps` is neither");
  refused(
      "[[question]]\nname = \"q\"\nasks = \"?\"\nbecause = \".\"\nanswer = \"1\"\npredict = true\n"
      "observe = { asks = \"?\", value = \"1\", unit = \"s\" }\n",
      "`observe` asks for another unit");
  refused("[[question]]\nname = \"q\"\nasks = \"?\"\nbecause = \".\"\nanswer = [\"1\", \"2\"]\n",
          "2 expressions for 0 choices");
  refused("[design]\nfile = \"d.toml\"\nbase = \"cluster.toml\"\nscore = \"1\"\nseeds = 0\n",
          "`design.seeds` is 0");
  refused(
      "[design]\nfile = \"d.toml\"\nbase = \"cluster.toml\"\nscore = \"1\"\nshows = [{name = \"x\", value = "
      "\"y.z\"}]\n",
      "`shows` of [design]: `y.z` is neither");
  std::string text(own_lab);
  const std::size_t at = text.find("answer = ");
  text.replace(at, text.find('\n', at) - at, "answer = [\"one.sim_time_s\", \"one.sim_time_s\"]");
  write_own_lab(folder.path(), text);
  const Outcome outcome = psim::test::psim({"lab", "list", "--course", "."}, folder.path());
  CHECK(outcome.err.find("2 expressions for 3 choices") != std::string::npos);
}

TEST_CASE("labs: a design's hidden seeds come from the secret, and its score is a number", "[lab][slow]") {
  const TemporaryFolder folder;
  const auto design = [&](const std::string& score) {
    write_own_lab(folder.path(), std::string(own_lab) +
                                     "[design]\nfile = \"design.toml\"\nbase = \"cluster.toml\"\n"
                                     "may = [\"cluster.servers\"]\npoints = 100\nscore = \"" +
                                     score + "\"\n");
    write(folder.path() / "mine" / "design.toml", "[cluster]\nservers = 2\n");
  };
  const auto run = [&](const std::vector<std::string>& words) {
    return psim::test::psim(words, folder.path());
  };
  design("seed / 1000000000");
  REQUIRE(run({"lab", "start", "7", "--student", "a1", "--course", "mine"}).code == 0);
  REQUIRE(run({"lab", "hand-in", "--in", "lab7", "--out", "h.json"}).code == 0);
  const auto points = [&](const std::string& secret) -> double {
    const Outcome grade = run({"grade", "h.json", "--course", ".", "--json", "--secret", secret});
    return Json::parse(grade.out)["grades"][0]["items"].back()["points"];
  };
  CHECK(points("one") == points("one"));
  CHECK(points("one") != points("two"));
  design("1 / (one.sim_time_s - one.sim_time_s)");
  const Outcome tried = run({"lab", "try", "7", "--course", "."});
  CHECK(tried.code == 1);
  CHECK(tried.out.find("`score` of lab 7 is inf") != std::string::npos);
}

TEST_CASE("labs: a hand-in of other runs is reported, and a pile may have labs of both courses",
          "[lab][slow]") {
  const TemporaryFolder folder;
  write_own_lab(folder.path(), own_lab);
  const auto run = [&](const std::vector<std::string>& words) {
    return psim::test::psim(words, folder.path());
  };
  REQUIRE(run({"lab", "start", "7", "--student", "a1", "--course", "."}).code == 0);
  REQUIRE(run({"lab", "hand-in", "--in", "lab7", "--out", "h.json"}).code == 0);
  std::string changed(own_lab);
  changed.replace(changed.find("training.steps=2"), 16, "training.steps=3");
  write_own_lab(folder.path(), changed);
  const Outcome grade = run({"grade", "h.json", "--course", ".", "--csv", "g.csv"});
  CHECK(grade.out.find("wrong digest of longer: it is another student's") != std::string::npos);
  CHECK(content(folder.path() / "g.csv").find("file,findings,first\n") != std::string::npos);
  Student student(1, "b2");
  const Outcome both = run({"grade", "h.json", student.hand_in().string(), "--course", "."});
  CHECK(both.out.find("b2         1") != std::string::npos);
}

TEST_CASE("labs: names that would touch other files are refused", "[lab]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& old, const std::string& now, const char* what) {
    std::string text(own_lab);
    text.replace(text.find(old), old.size(), now);
    write_own_lab(folder.path(), text);
    const Outcome outcome = psim::test::psim({"lab", "list", "--course", "."}, folder.path());
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find(what) != std::string::npos);
  };
  refused("name = \"longer\"", "name = \"..\"", "run `..`: a name has letters");
  refused("scenario = \"cluster.toml\"", "scenario = \"a/cluster.toml\"",
          "is not the name of a file next to lab.toml");
  refused("[\"longer\", \"one\"", "[\"one\", \"-one\"", "psim cannot tell `one` from `-one`");
  refused("workers = [2, 3]", "workers = [2, 3]\nseed = [1]", "the name of parameter `seed` is reserved");
}
