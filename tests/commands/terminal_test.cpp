// Goal: a terminal has colours and the line at the end of a run; a pipe, NO_COLOR and a dumb terminal have
// neither, and the texts are the same. Method: runs in a pseudo-terminal.
#include <filesystem>
#include <string>

#include "analysis/render/text_table.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

const std::string training = (source_folder() / "scenarios/quickstart.toml").string();

std::string without_codes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') i = text.find_first_of("mK", i);
    else plain += text[i];
  }
  return plain;
}

// Removes the last line from `text` and returns it.
std::string take_last_line(std::string& text) {
  const std::size_t begin = text.rfind('\n', text.size() - 2) + 1;
  std::string line = text.substr(begin, text.size() - 1 - begin);
  text.resize(begin);
  return line;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> run_of(const std::string& scenario, const std::vector<std::string>& more) {
  std::vector<std::string> words{"run", (source_folder() / "scenarios" / scenario).string(), "--out", "run",
                                 "--force"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
const std::vector<std::string> run = run_of("quickstart.toml", {});

// The line at the end of a run in a terminal of 80 columns.
std::string last_line_of(const std::vector<std::string>& more,
                         const std::string& scenario = "quickstart.toml") {
  const TemporaryFolder folder;
  std::string out = psim_in_terminal(run_of(scenario, more), folder.path(), {"COLUMNS=80"}).out;
  std::string line = without_codes(take_last_line(out));
  INFO(line);
  CHECK(psim::analysis::width_of(line) <= 80);
  CHECK(contains(line, "compute "));
  CHECK(contains(line, " %, wait "));
  CHECK(contains(line, " %, network "));
  return line.substr(0, line.find("  "));
}

}  // namespace

TEST_CASE("a run in a terminal has colours, and one line more", "[terminal]") {
  const TemporaryFolder folder;
  const Outcome piped = psim::test::psim(run, folder.path(), {"TERM=xterm-256color"});
  Outcome shown = psim_in_terminal(run, folder.path());
  CHECK(shown.code == piped.code);
  CHECK(contains(shown.out, "\033[38;5;67mcompute "));
  CHECK(contains(shown.out, "\033[1mworkers\033[0m"));
  const std::string line = take_last_line(shown.out);
  CHECK(contains(line, "█"));
  CHECK(without_codes(shown.out) == piped.out);
  CHECK(!contains(piped.out, "\033"));
}

TEST_CASE("a user can turn colours off", "[terminal]") {
  const TemporaryFolder folder;
  const std::string plain = psim::test::psim(run, folder.path()).out;
  for (const char* off : {"NO_COLOR=1", "TERM=dumb"})
    CHECK(psim_in_terminal(run, folder.path(), {off}).out == plain);
  CHECK(psim_in_terminal(run_of("quickstart.toml", {"--json"}), folder.path()).out ==
        psim::test::psim(run_of("quickstart.toml", {"--json"}), folder.path()).out);
}

TEST_CASE("the last line says how a run ended", "[terminal]") {
  CHECK(last_line_of({}).find(" s, accuracy ") < 8);
  CHECK(last_line_of({"--set", "training.target={accuracy=0.2}"}).starts_with("target reached in "));
  CHECK(last_line_of({"--set", "training.target={accuracy=0.99}"}).starts_with("target missed, accuracy "));
  CHECK(last_line_of({}, "model_parallel.toml").ends_with(" messages"));
  CHECK(last_line_of({"--set", "cluster.servers=1", "--set",
                      "fault=[{kind=\"crash\", nodes=[\"server 0\"], at=\"10ms\"}]"})
            .starts_with("stuck at "));
}

TEST_CASE("errors in a terminal have colours", "[terminal]") {
  const TemporaryFolder folder;
  const std::vector<std::string> wrong{"run", training, "--set", "training.stesp=1"};
  const std::string piped = psim::test::psim(wrong, folder.path()).err;
  const std::string shown = psim_in_terminal(wrong, folder.path()).err;
  CHECK(contains(shown, "\033[1;31merror\033[0m["));
  CHECK(contains(shown, " = \033[32mhelp\033[0m: "));
  CHECK(contains(shown, "\033[1;31m^^^"));
  CHECK(without_codes(shown) == piped);
  CHECK(psim_in_terminal(wrong, folder.path(), {"NO_COLOR=1"}).err == piped);
}

TEST_CASE("a table in a terminal has the fastest arm in bold", "[terminal]") {
  const TemporaryFolder folder;
  const std::vector<std::string> words{
      "compare", training, "--out", "study", "--set", "training.steps=20", "--set", "cluster.workers=[2, 4]"};
  const std::string piped = psim::test::psim(words, folder.path()).out;
  const std::string shown = psim_in_terminal(words, folder.path()).out;
  CHECK(contains(shown, "\n\033[1m"));
  CHECK(contains(without_codes(shown), piped.substr(piped.find("--------"), 300)));
}
