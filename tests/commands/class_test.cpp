// psim serve --class: what students get and do not get, what counts as an answer, and who may do what.
#include <fmt/format.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"
#include "tests/support/served.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

// A lab that needs no runs: a number, a choice, and a question without a right answer.
const char* const small_lab = R"(lab = 7
title = "Numbers"
minutes = 5
[[question]]
name = "number"
asks = "How many milliseconds?"
predict = true
answer = "20"
unit = "ms"
tolerance = 0.1
because = "It is {=4 * 5}, because 4 times 5 is."
[[question]]
name = "choice"
asks = "Which?"
predict = true
answer = "1"
choices = ["the first", "the second"]
observe = { asks = "How many?", value = "1" }
because = "The second is."
[[question]]
name = "nothing"
asks = "How many?"
predict = true
answer = "1 / 0"
because = "Nobody knows."
)";

class Class {
 public:
  explicit Class(const std::string& lab = small_lab) {
    std::ofstream(folder_.path() / "lab.toml") << lab;
    std::ofstream(folder_.path() / "README.md")
        << "# Lab 7\n\n## Your cluster\n\nOf {student}.\n\n## 1. Predict\n";
    served_.emplace(std::vector<std::string>{"--class", "7", "--course", folder_.path().string()});
    for (int i = 0; i < 1000 && teacher()["version"] < 4; ++i)  // until all answers are known
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    code_ = teacher()["code"];
  }

  Served& served() { return *served_; }
  const std::string& code() const { return code_; }

  Json teacher() const { return Json::parse(asked(*served_, "GET", "/class?0").body); }
  Json act(const std::string& what) const { return Json::parse(asked(*served_, "POST", "/act", what).body); }

  Answer student(int number, const std::string& method, const std::string& path, const std::string& body = {},
                 const std::string& code = {}, const char* from = "127.0.0.1") const {
    return sent(
        served_->port(),
        fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Psim-Token: {}.{:032x}\r\nContent-Length: "
                    "{}\r\n\r\n{}",
                    method, path, served_->port(), code.empty() ? code_ : code, number, body.size(), body),
        from);
  }
  Json state(int number) const { return Json::parse(student(number, "GET", "/state?0").body); }
  int answer(int number, const std::string& text, int question = 1) const {
    return student(number, "POST", fmt::format("/answer?{}", question), text).status;
  }

 private:
  TemporaryFolder folder_;
  std::optional<Served> served_;
  std::string code_;
};

std::set<std::string> names_of(const Json& state) {
  std::set<std::string> names;
  for (const auto& [name, value] : state.items()) names.insert(name);
  return names;
}

std::size_t counted(const Json& bars) {
  std::size_t count = 0;
  for (const Json& one : bars) count += one["count"].get<std::size_t>();
  return count;
}

}  // namespace

TEST_CASE("a class predicts, and students learn the answer when the teacher shows it", "[serve]") {
  const Class room;
  const std::set<std::string> before{"version", "lab",  "cluster", "at",   "of",
                                     "asks",    "form", "choices", "stage"};
  CHECK(names_of(room.state(1)) == before);
  CHECK(room.state(1)["cluster"].get<std::string>().find("Of " + room.code()) != std::string::npos);

  const Json answered = Json::parse(room.student(1, "POST", "/answer?1", "0.0195 s").body);
  std::set<std::string> with_own = before;
  with_own.insert("own");
  CHECK(names_of(answered) == with_own);
  CHECK(answered["own"] == "19.5 ms");
  CHECK(room.answer(1, "21") == 200);
  CHECK(room.answer(2, "45,5") == 200);
  CHECK(room.state(1)["own"] == "21 ms");
  CHECK_FALSE(room.state(3).contains("own"));
  Json teacher = room.teacher();
  CHECK(teacher["answered"] == 2);
  CHECK(teacher["present"] == 3);
  CHECK(counted(teacher["bars"]) == 2);
  CHECK_FALSE(teacher.contains("right"));

  CHECK(room.act("close")["stage"] == "closed");
  CHECK(room.answer(1, "30") == 400);
  CHECK(names_of(room.state(1)) == with_own);
  CHECK(room.act("open")["stage"] == "open");
  CHECK(room.answer(1, "22") == 200);
  const std::uint64_t version = room.state(1)["version"];
  const std::string same = room.student(1, "GET", fmt::format("/state?{}", version)).body;
  CHECK(same == fmt::format(R"({{"version":{}}})", version));

  teacher = room.act("show");
  CHECK(teacher["right"] == "20 ms");
  CHECK(teacher["were_right"] == 1);
  CHECK(teacher["because"] == "It is 20, because 4 times 5 is.");
  int marked = 0;
  for (const Json& bar : teacher["bars"]) marked += bar["here"] ? 1 : 0;
  CHECK(marked == 1);
  CHECK(room.answer(1, "20") == 400);
  const Json shown = room.state(1);
  CHECK(shown["right"] == "20 ms");
  CHECK(shown["is_right"] == true);
  CHECK(shown["own"] == "22 ms");
  CHECK_FALSE(shown.contains("bars"));
  CHECK(room.state(2)["is_right"] == false);
  CHECK(room.state(3)["right"] == "20 ms");
}

TEST_CASE("a class goes on to choices and back, and its teacher hears why psim has no answer", "[serve]") {
  const Class room;
  CHECK(room.act("previous")["at"] == 1);
  CHECK(room.act("next")["choices"].size() == 2);
  CHECK(room.answer(1, "20", 1) == 400);  // to the question before
  CHECK(room.answer(1, "neither", 2) == 400);
  CHECK(room.answer(1, "The First", 2) == 200);
  CHECK(room.answer(2, "the second", 2) == 200);
  CHECK(
      room.act("show")["bars"].dump() ==
      R"([{"label":"the first","count":1,"right":0,"here":false},{"label":"the second","count":1,"right":1,"here":true}])");
  const Json last = room.act("next");
  CHECK(last["error"].get<std::string>().find("no right answer") != std::string::npos);
  CHECK(room.act("show")["waits"] == "psim could not compute it");
  CHECK(room.state(1)["waits"] == "psim could not compute it");
  CHECK_FALSE(room.state(1).contains("error"));
  CHECK(room.act("next")["at"] == 3);
  CHECK(room.act("previous")["at"] == 2);
}

TEST_CASE("200 students answer at once, and one of them absurdly", "[serve]") {
  const Class room;
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> students;
    for (int i = 0; i < 200; ++i) {
      students.emplace_back([&, i] {
        taken += room.student(i, "GET", "/state?0").status == 200 ? 1 : 0;
        taken += room.answer(i, i == 0 ? "1e300" : fmt::format("{}", 10 + i % 20)) == 200 ? 1 : 0;
      });
    }
  }
  CHECK(taken == 400);
  const Json teacher = room.act("show");
  CHECK(teacher["answered"] == 200);
  const Json& bars = teacher["bars"];
  CHECK(counted(bars) == 200);
  CHECK(bars.size() > 8);
  CHECK(bars.size() <= 12);
  CHECK(bars.back()["count"] == 1);
  CHECK(bars.back()["label"].get<std::string>().find(" or more") != std::string::npos);
  CHECK(teacher["were_right"] == 50);  // 18 to 22
}

TEST_CASE("an answer is bounded and readable, and a class has at most 500 students", "[serve]") {
  const Class room;
  for (const std::string& text :
       std::vector<std::string>{"", "many", "nan", "1e999", "3 bananas", "\xff\xfe", "3\n4",
                                std::string(101, '1'), "1,893", "<b>3</b>"}) {
    INFO(text);
    CHECK(room.answer(1, text) == 400);
  }
  CHECK(room.answer(1, std::string(1025, '1')) == 413);
  CHECK(room.answer(1, "3", 0) == 400);
  CHECK(room.student(1, "POST", "/answer?x", "3").status == 400);
  CHECK(room.student(1, "POST", "/answer", "3").status == 404);
  CHECK(room.teacher()["answered"] == 0);
  CHECK(room.teacher()["bars"].empty());
  for (int i = 2; i <= 500; ++i) CHECK(room.student(i, "GET", "/state?0").status == 200);
  CHECK(room.student(501, "GET", "/state?0").status == 503);
  CHECK(room.answer(1, "3") == 200);
}

TEST_CASE("a code is needed, guesses are limited, and a class behind one address is not locked out",
          "[serve]") {
  const Class room;
  CHECK(room.code().size() == 5);
  CHECK(room.student(1, "GET", "/state?0", "", "aeiou").status == 403);
  CHECK(room.student(1, "GET", "/state?0").status == 200);
  std::string large = room.code();
  for (char& letter : large) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  CHECK(room.student(1, "GET", "/state?0", "", large).status == 200);
  const char* const stranger = "127.0.0.2";
  int wrong = 0, last = 403;
  for (; last == 403 && wrong < 20'000; ++wrong)
    last = room.student(1000 + wrong, "GET", "/state?0", "", "aeiou", stranger).status;
  CHECK(last == 429);
  CHECK(wrong > 400);
  CHECK(room.student(1, "GET", "/state?0", "", "", stranger).status == 200);  // who is in stays in
  CHECK(room.student(2, "GET", "/state?0").status == 200);
}

TEST_CASE("only the teacher acts, under the name of the server, and a class serves nothing else", "[serve]") {
  Class room;
  for (const char* path : {"/act", "/run"}) {
    CHECK(room.student(1, "POST", path, "show").status == 404);
    CHECK(room.student(1, "POST", path, "show", "aeiou").status == 403);
  }
  CHECK(room.student(1, "GET", "/class?0").status == 404);
  Served& served = room.served();
  CHECK(asked(served, "POST", "/run", R"({"settings":{}})").status == 404);
  CHECK(asked(served, "POST", "/act", "explode").status == 400);
  CHECK(room.teacher()["stage"] == "open");
  const auto status = [&](const std::string& path, const std::string& host, const std::string& more = "") {
    return sent(served.port(), fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", path, host, more)).status;
  };
  const std::string host = fmt::format("localhost:{}", served.port());
  for (const std::string& page : {std::string("/"), "/" + room.code(), std::string("/AEIOU")}) {
    CHECK(status(page, host) == 200);
    CHECK(status(page, "evil.example") == 403);
    CHECK(status(page, host, "Origin: http://evil.example\r\n") == 403);
  }
  CHECK(status("/?token=" + served.token(), host) == 200);
  for (const char* path : {"/?token=0", "/etc/passwd", "/../etc", "/class?0", "/state?0", "/a.b.c"})
    CHECK(status(path, host) == 403);
  const std::string page = asked(served, "GET", "/").body;
  CHECK(page.find(room.code()) == std::string::npos);
  CHECK(page.find(served.token()) == std::string::npos);
  CHECK(page.size() < 64'000);  // 200 phones load it at once
}

TEST_CASE("Ctrl-C ends a class whose runs go on, and nothing is left of it", "[serve]") {
  Served served({"--class", "2"});
  CHECK(served.stop(SIGINT) == 130);
  CHECK(fs::is_empty(served.scratch()));
}

TEST_CASE("psim serve --class says which labs there are for a class", "[serve]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "lab.toml") << "lab = 7\ntitle = \"None\"\nminutes = 5\n";
  std::ofstream(folder.path() / "README.md") << "# Lab 7\n";
  const auto said = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"serve"};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = psim::test::psim(words, folder.path());
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(said({"--class", "two"}).find("psim lab list") != std::string::npos);
  CHECK(said({"--class", "99"}).find("no lab 99") != std::string::npos);
  CHECK(said({"--class", "7", "--course", "."}).find("no predictions") != std::string::npos);
  CHECK(said({"--course", "."}).find("--class") != std::string::npos);
  CHECK(said({"--class", "2", "--memory", "1"}).find("--memory") != std::string::npos);
}
