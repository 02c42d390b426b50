// psim report: where pages are written, what they may replace, and that nothing else minds them.
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/host.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* scenario = R"(model = {layers = [64, 10]}
training = {batch_size = 16, steps = 4}
cluster = {workers = 2}
)";

class Desk {
 public:
  Desk() { std::ofstream(folder_.path() / "small.toml") << scenario; }
  const fs::path& path() const { return folder_.path(); }
  Outcome run(const std::vector<std::string>& words, int code = 0) const {
    Outcome outcome = psim::test::psim(words, path());
    INFO(words[0] << " " << (words.size() > 1 ? words[1] : "") << "\n" << outcome.out << outcome.err);
    REQUIRE(outcome.code == code);
    return outcome;
  }

 private:
  TemporaryFolder folder_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("pictures of psim export open where the time line does, around the first fault",
          "[report][timeline]") {
  const Desk desk;
  std::ofstream(desk.path() / "crash.toml") << R"(model = {layers = [64, 10]}
training = {batch_size = 16, steps = 400}
cluster = {workers = 2, servers = 2}
compute = {time = "10ms"}
fault = [{kind = "crash", nodes = ["worker 1"], at = "2s", restart_after = "100ms"}]
recovery = {heartbeat = "20ms", timeout = "100ms", retry = "50ms"}
)";
  desk.run({"run", "crash.toml", "--out", "crash"});
  const std::string window = desk.run({"timeline", "crash"}).out;  // "crash: 1.9 s to 2.3 s of 4 s"
  const std::string from = window.substr(7, window.find(" s to ") - 7);
  CHECK(std::stod(from) > 1.5);
  desk.run({"export", "crash", "--tikz", "crash.tex", "--svg", "charts"});
  CHECK(contains(content(desk.path() / "crash.tex"), "{" + from + "}"));
  desk.run({"export", "crash", "--tikz", "begin.tex", "--until", "50ms"});
  CHECK(contains(content(desk.path() / "begin.tex"), "{0}"));
}

TEST_CASE("a page stands in the folder of its run, and nothing minds it", "[report]") {
  const Desk desk;
  desk.run({"run", "small.toml", "--trace", "events", "--out", "one"});
  const std::string sums = content(desk.path() / "one/checksums");
  CHECK(contains(desk.run({"report", "one"}).out, "report: one/report.html"));
  CHECK(contains(content(desk.path() / "one/report.html"), "id=\"timeline\""));
  CHECK(content(desk.path() / "one/checksums") == sums);
  desk.run({"verify", "one"});
  desk.run({"replay", "one"});
  desk.run({"report", "one"});  // replaces its own
  CHECK(!contains(desk.run({"run", "small.toml", "--trace", "events", "--out", "one"}).err,
                  "again"));  // is reused
  desk.run({"run", "small.toml", "--trace", "steps", "--out", "one", "--force"});
  CHECK(!fs::exists(desk.path() / "one/report.html"));
  CHECK(contains(desk.run({"report", "one"}).out, "one/report.html"));
  CHECK(contains(content(desk.path() / "one/report.html"), "recorded without its events"));
  std::ofstream(desk.path() / "one/report.html") << "my own notes";
  CHECK(contains(desk.run({"report", "one"}, 2).err, "is not a page of psim"));
  CHECK(content(desk.path() / "one/report.html") == "my own notes");
  CHECK(contains(desk.run({"run", "small.toml", "--out", "one", "--force"}, 2).err,
                 "which psim did not write"));
}

TEST_CASE("a study's page goes where the study goes", "[report]") {
  const Desk desk;
  desk.run({"compare", "small.toml", "--set", "consistency=[bsp, asp]", "--seeds", "1,2", "--report"});
  const fs::path study = fs::canonical(desk.path() / "studies/latest");
  const std::string page = content(study / "report.html");
  CHECK(contains(page, "<table id=\"results\">"));
  desk.run({"report", "latest", "--out", "other.html"});
  CHECK(content(desk.path() / "other.html") == page);
  desk.run({"merge", "latest"});
  CHECK(content(study / "report.html") == page);  // nothing is new
  desk.run({"replay", "latest"});
  CHECK(contains(desk.run({"archive", "latest", "-o", "it.tar.gz"}).out, "wrote it.tar.gz"));
  CHECK(contains(process({"tar", "tzf", "it.tar.gz"}, desk.path()).out, "/report.html"));
  desk.run({"merge", "latest", "--baseline", "asp"});
  CHECK(!fs::exists(study / "report.html"));  // it would show another baseline
  desk.run({"report", "latest"});
  desk.run({"studies", "remove", "latest"});
  CHECK(!fs::exists(study));
}

TEST_CASE("what has no page is said", "[report]") {
  const Desk desk;
  CHECK(contains(desk.run({"report", "nothing"}, 2).err, "there is no run or study `nothing`"));
  CHECK(contains(desk.run({"report", "."}, 2).err, "is neither a run nor a study"));
  desk.run({"run", "small.toml", "--out", "one"});
  fs::create_directory(desk.path() / "here");
  CHECK(contains(desk.run({"report", "one", "--out", "here"}, 2).err, "here is a folder"));
}

TEST_CASE("pages replace files only, and leave nothing behind", "[report]") {
  const Desk desk;
  desk.run({"run", "small.toml", "--out", "one"});
  REQUIRE(process({"mkfifo", "pipe"}, desk.path()).code == 0);
  CHECK(contains(desk.run({"report", "one", "--out", "pipe"}, 2).err, "pipe is a pipe"));
  CHECK(fs::is_fifo(desk.path() / "pipe"));
  CHECK(
      contains(desk.run({"report", "one", "--out", "one/other.html"}, 2).err, "inside the folder of a run"));
  desk.run({"report", "one", "--out", "page.html"});
  fs::create_symlink("page.html", desk.path() / "link.html");
  desk.run({"report", "one", "--out", "link.html"});
  CHECK(fs::is_symlink(desk.path() / "link.html"));
  // What a process that was killed has left is psim's own.
  const std::string left = "one/report.html.new-" + this_host() + "-1";
  std::ofstream(desk.path() / left) << "";
  desk.run({"run", "small.toml", "--out", "one", "--force"});
  CHECK(!fs::exists(desk.path() / left));
}

TEST_CASE("exports replace files only, outside of runs", "[export]") {
  const Desk desk;
  desk.run({"run", "small.toml", "--trace", "events", "--out", "one"});
  REQUIRE(process({"mkfifo", "pipe"}, desk.path()).code == 0);
  CHECK(contains(desk.run({"export", "one", "--csv", "pipe", "--force"}, 2).err, "pipe is a pipe"));
  CHECK(fs::is_fifo(desk.path() / "pipe"));
  const std::string summary = content(desk.path() / "one/summary.json");
  CHECK(contains(desk.run({"export", "one", "--csv", "one/summary.json", "--force"}, 2).err,
                 "inside the folder"));
  CHECK(contains(desk.run({"export", "one", "--svg", "one/charts"}, 2).err, "inside the folder"));
  CHECK(content(desk.path() / "one/summary.json") == summary);
  CHECK(contains(desk.run({"export", "one", "--csv", "x", "--dot", "./x"}, 2).err, "the same file"));
  CHECK(!fs::exists(desk.path() / "x"));
  CHECK(contains(desk.run({"export", "one", "--csv", "none/x"}, 2).err, "the folder none does not exist"));
}

TEST_CASE("a study is exported as charts, a file for each condition", "[export]") {
  const Desk desk;
  desk.run({"compare", "small.toml", "--set", "consistency=[bsp, asp]", "--seeds", "1,2"});
  CHECK(contains(desk.run({"export", "latest", "--svg", "charts", "--width-mm", "85"}).out,
                 "wrote charts/loss.svg"));
  for (const char* name : {"loss.svg", "accuracy.svg", "times.svg"})
    CHECK(contains(content(desk.path() / "charts" / name), "width=\"85.00mm\""));
  desk.run({"export", "studies/latest", "--svg", "charts"});  // replaces its own
  CHECK(contains(content(desk.path() / "charts/loss.svg"), "width=\"180.00mm\""));
  desk.run({"compare", "small.toml", "--set", "consistency=[bsp, asp]", "--set", "cluster.servers=[1, 2]",
            "--seeds", "1,2", "--out", "two"});
  fs::create_directory(desk.path() / "mine");
  std::ofstream(desk.path() / "mine/times-2.svg") << "my own drawing";
  CHECK(contains(desk.run({"export", "two", "--svg", "mine"}, 2).err, "was not written by psim export"));
  CHECK(!fs::exists(desk.path() / "mine/loss-1.svg"));  // nothing is written
  CHECK(content(desk.path() / "mine/times-2.svg") == "my own drawing");
  desk.run({"export", "two", "--svg", "mine", "--force"});
  CHECK(contains(content(desk.path() / "mine/times-2.svg"), ">servers = 2</text>"));
  CHECK(fs::exists(desk.path() / "mine/loss-1.svg"));
  CHECK(!fs::exists(desk.path() / "mine/loss.svg"));
  CHECK(contains(desk.run({"export", "two", "--svg", "two/charts"}, 2).err, "inside the folder"));
  fs::remove(desk.path() / "two/results.jsonl");
  CHECK(contains(desk.run({"export", "two", "--svg", "mine"}, 2).err, "two is not complete"));
}

TEST_CASE("what only a run can be exported as is refused for a study", "[export][slow]") {
  const Desk desk;
  desk.run({"compare", "small.toml", "--set", "consistency=[bsp, asp]", "--seeds", "1", "--out", "two"});
  for (const std::string option : {"--perfetto", "--csv", "--dot", "--tikz"}) {
    const std::string err = desk.run({"export", "two", option, "x", "--svg", "charts"}, 2).err;
    CHECK(contains(err, option + " is for a run, but two is a study"));
    CHECK(contains(err, "psim export RUN " + option + " FILE"));
  }
  CHECK(
      contains(desk.run({"export", "two", "--svg", "charts", "--from", "1s"}, 2).err, "--from is for a run"));
  CHECK(contains(desk.run({"export", "two", "--svg", "charts", "--until", "1s"}, 2).err,
                 "--until is for a run"));
  CHECK(contains(desk.run({"export", "two", "--svg", "charts", "--all-flows"}, 2).err,
                 "--all-flows is for a run"));
  CHECK(!fs::exists(desk.path() / "charts"));
  // `latest` is a run where there is one.
  desk.run({"run", "small.toml", "--trace", "events"});
  desk.run({"compare", "small.toml", "--set", "consistency=[bsp, asp]", "--seeds", "1"});
  const Outcome both = desk.run({"export", "latest", "--svg", "charts"});
  CHECK(contains(both.out, "charts/timeline.svg"));
  CHECK(contains(both.err, "the latest study is studies/latest"));
}
