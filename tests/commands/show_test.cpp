// psim show: the page of a run and of a story, and what is wrong with them.
#include <string>

#include "analysis/run_files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"
#include "tests/support/student.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* small = "[model]\nlayers = [64, 10]\n[training]\nsteps = 3\n[cluster]\nworkers = 2\n";

std::string story_with(const std::string& moments) {
  return "title = \"A step\"\nscenario = \"small.toml\"\n" + moments;
}

std::string moment(const std::string& event, const std::string& more = "") {
  return "[[moment]]\nevent = \"" + event + "\"\nsays = \"It happens.\"\n" + more;
}

}  // namespace

TEST_CASE("a run plays on a page of its own, which only psim's page may be replaced by", "[command][show]") {
  const TemporaryFolder folder;
  write(folder.path() / "small.toml", small);
  REQUIRE(::psim::test::psim({"run", "small.toml", "--trace", "events", "--out", "it"}, folder.path()).code ==
          0);
  const auto show = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"show", "it"};
    words.insert(words.end(), more.begin(), more.end());
    return ::psim::test::psim(words, folder.path());
  };
  CHECK(show({}).out.starts_with("show: it/show.html"));
  CHECK(::psim::analysis::is_page(folder.path() / "it/show.html"));
  CHECK(show({"--at", "1s"}).err.find("is after the run's end") != std::string::npos);
  write(folder.path() / "mine.html", "<p>mine</p>");
  CHECK(show({"--out", "mine.html"}).code == 2);
  CHECK(content(folder.path() / "mine.html") == "<p>mine</p>");
  CHECK(::psim::test::psim({"verify", "it"}, folder.path()).code == 0);  // the page is not a part of the run
  REQUIRE(::psim::test::psim({"run", "small.toml", "--trace", "none", "--out", "bare"}, folder.path()).code ==
          0);
  const Outcome bare = ::psim::test::psim({"show", "bare"}, folder.path());
  CHECK(bare.code == 2);
  CHECK(bare.err.find("--trace events") != std::string::npos);
  CHECK(::psim::test::psim({"show"}, folder.path()).code == 2);
}

TEST_CASE("a film is a picture that moves, drawn by Chromium", "[command][show]") {
  const TemporaryFolder folder;
  write(folder.path() / "small.toml", small);
  REQUIRE(::psim::test::psim({"run", "small.toml", "--trace", "events", "--out", "it"}, folder.path()).code ==
          0);
  const auto film = [&](const std::string& file, const std::vector<std::string>& environment) {
    return ::psim::test::psim({"show", "it", "--film", file}, folder.path(), environment);
  };
  const Outcome none = film("film.svg", {"PATH=/nowhere"});
  CHECK(none.code == 2);
  CHECK(none.err.find("a film needs Chromium") != std::string::npos);
  CHECK(none.err.find("apt-get install chromium") != std::string::npos);
  write(folder.path() / "chromium", "#!/bin/sh\nexit 7\n");  // a browser that cannot start
  fs::permissions(folder.path() / "chromium", fs::perms::owner_all);
  const Outcome broken = film("film.svg", {"PATH=" + folder.path().string() + ":/bin"});
  CHECK(broken.code == 3);
  CHECK(broken.err.find("chromium has drawn no film: exit code 7") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.path() / "film.svg"));
  write(folder.path() / "mine.svg", "<svg/>");
  CHECK(film("mine.svg", {}).code == 2);
  CHECK(film("it/film.svg", {}).code == 2);
  CHECK(::psim::test::psim({"show", "it", "--film", "film.svg", "--out", "a.html"}, folder.path()).code == 2);
  if (process({"sh", "-c", "command -v chromium || command -v chromium-browser || command -v google-chrome"})
          .code != 0) {
    WARN("skipped: there is no Chromium here; on Debian: apt-get install chromium");
    return;
  }
  for (int times = 0; times < 2; ++times) {  // the second film replaces the first
    const Outcome made = film("film.svg", {});
    INFO(made.err);
    CHECK(made.code == 0);
    CHECK(made.out == "film: film.svg\n");
  }
  const std::string picture = content(folder.path() / "film.svg");
  CHECK(picture.starts_with("<svg xmlns="));
  CHECK(picture.ends_with("</svg>\n"));
  CHECK(picture.find("<animate attributeName=\"display\"") != std::string::npos);
  CHECK(picture.find("worker 1") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.path() / "it/show.html"));
}

TEST_CASE("a story makes its run, and says which moment the run lacks", "[command][show]") {
  const TemporaryFolder folder;
  write(folder.path() / "small.toml", small);
  const auto tell = [&](const std::string& story) {
    write(folder.path() / "mine.toml", story);
    return ::psim::test::psim({"show", "--story", "mine.toml"}, folder.path());
  };
  const Outcome good =
      tell(story_with(moment("begun", "clock = 1\n") + moment("model_update", "lit = [\"server 0\"]\n")));
  INFO(good.err);
  CHECK(good.out.starts_with("show: mine.html"));
  CHECK_FALSE(fs::exists(folder.path() / "runs"));  // its run is not kept
  CHECK(content(folder.path() / "mine.html").find("It happens.") != std::string::npos);
  const Outcome later =
      tell(story_with(moment("model_update", "version = 3\n") + moment("begun", "clock = 1\n")));
  CHECK(later.code == 2);
  CHECK(later.err.find("the run has no moment for \"It happens.\"") != std::string::npos);
  CHECK(later.err.find("found 1 of the story's 2 moments") != std::string::npos);
  const std::string pushes = "kind = \"push\"\nnode = \"server 0\"\n";  // of two workers in three steps
  CHECK(tell(story_with(moment("received", pushes + "count = 6\n"))).code == 0);
  CHECK(tell(story_with(moment("received", pushes + "count = 7\n"))).code == 2);
  CHECK(tell(story_with(moment("received", pushes + "other = \"worker 1\"\ncount = 4\n"))).code == 2);
  const Outcome wrong = tell(story_with("[[moment]]\nevnt = \"begun\"\nsays = \"It happens.\"\n"));
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("mine.toml:4:1") != std::string::npos);
  CHECK(wrong.err.find("event") != std::string::npos);
  CHECK(tell("title = ").code == 2);
  const Outcome unknown = ::psim::test::psim({"show", "--story", "stragler"}, folder.path());
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("straggler") != std::string::npos);
}

TEST_CASE("a story without moments, or about a node that is not there", "[command][show]") {
  const TemporaryFolder folder;
  write(folder.path() / "small.toml", small);
  write(folder.path() / "none.toml", story_with(""));
  CHECK(::psim::test::psim({"show", "--story", "none.toml"}, folder.path()).code == 2);
  write(folder.path() / "nobody.toml", story_with(moment("begun", "lit = [\"worker 9\"]\n")));
  const Outcome nobody = ::psim::test::psim({"show", "--story", "nobody.toml"}, folder.path());
  CHECK(nobody.code == 2);
  CHECK(nobody.err.find("worker 9") != std::string::npos);
}
