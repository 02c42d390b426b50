// SIGINT, SIGTERM and SIGKILL, and standard streams that are closed or full.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* short_scenario = R"([model]
layers = [64, 8, 10]
[training]
batch_size = 8
steps = 4
[cluster]
workers = 2
[compare]
seeds = [1, 2, 3, 4]
)";

// Nobody waits for its end.
constexpr const char* long_scenario = R"([model]
layers = [64, 32, 10]
[training]
batch_size = 8
epochs = 10000
[cluster]
workers = 4
[compare]
seeds = [1, 2, 3, 4]
)";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Waits as long as it takes on a busy machine, and no longer than a minute.
bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 6000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A folder with both scenarios and a place for temporary files, in which psim is started.
class Place {
 public:
  Place() {
    std::ofstream(at("short.toml")) << short_scenario;
    std::ofstream(at("long.toml")) << long_scenario;
    fs::create_directory(at("tmp"));
  }
  fs::path at(const std::string& name) const { return folder_.path() / name; }

  pid_t start(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words{binary().string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string tmp = "TMPDIR=" + at("tmp").string(), err = at("err").string();
    const std::string folder = folder_.path().string();
    const pid_t child = fork();
    if (child != 0) return child;
    for (const int signal : {SIGINT, SIGTERM, SIGABRT, SIGSEGV}) ::signal(signal, SIG_DFL);
    if (chdir(folder.c_str()) != 0 || putenv(const_cast<char*>(tmp.c_str())) != 0 ||
        freopen("/dev/null", "w", stdout) == nullptr || freopen(err.c_str(), "w", stderr) == nullptr)
      _exit(127);
    alarm(120);
    execv(argv[0], argv.data());
    _exit(127);
  }

  // Processes that work here.
  std::set<pid_t> processes() const {
    std::set<pid_t> all;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (fs::read_symlink(entry.path() / "cwd", gone) == fs::canonical(folder_.path()))
        all.insert(static_cast<pid_t>(std::stol(name)));
    }
    return all;
  }

  std::vector<std::string> left_over() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(at("tmp"))) all.push_back(entry.path().filename());
    for (const char* folder : {"runs", "studies"}) {
      if (!fs::exists(at(folder))) continue;
      for (const auto& entry : fs::recursive_directory_iterator(at(folder))) {
        if (contains(entry.path().filename(), "partial")) all.push_back(entry.path().filename());
      }
    }
    return all;
  }

  // Whether a run has begun: it is being written, or a process of its own makes it.
  bool is_at_work() const { return !left_over().empty() || processes().size() >= 2; }
  Outcome shell(const std::string& line) const {
    const std::string tmp = "TMPDIR=" + at("tmp").string();
    return process({"sh", "-c", "PSIM=" + binary().string() + "; " + line}, folder_.path(), {tmp});
  }

 private:
  TemporaryFolder folder_;
};

// Whether it is the program that answers `command` already, and has set its handlers.
bool listens(pid_t process, const std::string& command) {
  std::error_code gone;
  const fs::path program = fs::read_symlink("/proc/" + std::to_string(process) + "/exe", gone);
  const fs::path psim = fs::canonical(binary());
  if (program != (command == "fuzz" ? psim.parent_path() / "psim-further" : psim)) return false;
  std::istringstream status(content("/proc/" + std::to_string(process) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigCgt:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1) & 1U) != 0;
  }
  return false;
}

int end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("an interrupt ends every subcommand with 130 or 143 and leaves nothing behind",
          "[interrupt][slow]") {
  struct Case {
    std::vector<std::string> words;
    const char* says;
    int delay_ms;  // after it listens
  };
  const std::vector<Case> cases{{{"run", "long.toml"}, "interrupted", 0},
                                {{"run", "long.toml"}, "nothing was written", 400},
                                {{"run", "long.toml", "--context", "thread"}, "nothing was written", 400},
                                {{"run", "long.toml", "--json"}, "interrupted", 300},
                                {{"compare", "long.toml"}, "interrupted", 20},
                                {{"compare", "long.toml"}, "0 of 4 runs finished; the same command", 400},
                                {{"compare", "long.toml", "--json"}, "0 of 4 runs finished, and not", 400},
                                {{"replay", "edited"}, "interrupted", 200},
                                {{"fuzz", "--runs", "100000"}, "--seed 1 --first", 300}};
  const Place place;
  REQUIRE(place.shell("$PSIM run short.toml --out edited >out").code == 0);
  std::string toml = content(place.at("edited/scenario.toml"));
  const std::string steps = "steps = 4";
  toml.replace(toml.find(steps), steps.size(), "steps = 900000");
  std::ofstream(place.at("edited/scenario.toml")) << toml;
  for (const Case& one : cases) {
    for (const int signal : {SIGINT, SIGTERM}) {
      const pid_t child = place.start(one.words);
      INFO(one.words[0] << " after " << one.delay_ms << " ms, signal " << signal);
      CHECK(comes_true([&] { return listens(child, one.words[0]); }));
      std::this_thread::sleep_for(std::chrono::milliseconds(one.delay_ms));
      const bool has_begun = one.delay_ms >= 400;
      if (has_begun) CHECK(comes_true([&] { return place.is_at_work(); }));
      kill(child, signal);
      CHECK(end_of(child) == 128 + signal);
      CHECK(comes_true(
          [&] { return place.processes().empty(); }));  // the kernel ends a child's child soon after
      CHECK(place.left_over().empty());
      INFO(content(place.at("err")));
      CHECK(contains(content(place.at("err")), one.says));
    }
  }
}

TEST_CASE("a killed comparison leaves no process, and the next command sweeps up", "[interrupt]") {
  const Place place;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"compare", "long.toml"}, {"compare", "long.toml", "--json"}}) {
    const pid_t child = place.start(words);
    CHECK(comes_true([&] { return place.processes().size() >= 3; }));
    kill(child, SIGKILL);
    CHECK(end_of(child) == -SIGKILL);
    CHECK(comes_true([&] { return place.processes().empty(); }));
  }
  CHECK(!place.left_over().empty());
  CHECK(place.shell("$PSIM compare short.toml --json && $PSIM run short.toml").code == 0);
  CHECK(place.left_over().empty());
}

TEST_CASE("an interrupted comparison says how many runs it keeps", "[interrupt]") {
  const Place place;
  std::string several = short_scenario;
  const std::string four = "[1, 2, 3, 4]";
  several.replace(several.find(four), four.size(), "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]");
  std::ofstream(place.at("several.toml")) << several;
  const pid_t child = place.start({"compare", "several.toml", "-j", "1", "--out", "study"});
  const auto lines = [&] {
    std::size_t count = 0;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(place.at("study/results"), none)) {
      std::ifstream results(entry.path());
      for (std::string line; std::getline(results, line);) count += contains(line, ",\"summary\":") ? 1U : 0U;
    }
    return count;
  };
  CHECK(comes_true([&] { return lines() > 0; }));
  kill(child, SIGINT);
  const int code = end_of(child);
  const std::string said = content(place.at("err"));
  INFO(said);
  CHECK((code == 130 || code == 0));  // it may have been through
  const std::size_t kept = lines();
  if (code == 130)
    CHECK(contains(said, " " + std::to_string(kept) + " of 14 runs finished; the same command"));
  CHECK(place.shell("$PSIM compare several.toml --out study >out").code == 0);
  CHECK(place.shell("$PSIM compare several.toml --out whole >out").code == 0);
  CHECK(place.shell("diff -r study whole").code == 0);
}

TEST_CASE("two comparisons that write the same runs at once both end well", "[interrupt][slow]") {
  const Place place;
  for (int i = 0; i < 4; ++i) {
    const Outcome both = place.shell(
        "$PSIM compare short.toml --force >one & first=$!; $PSIM compare short.toml --force >two; second=$?;"
        "wait $first; echo $? $second");
    INFO(both.err);
    CHECK(both.out == "0 0\n");
    CHECK(content(place.at("one")) == content(place.at("two")));
  }
  CHECK(place.left_over().empty());
}

TEST_CASE("a closed or full stderr changes nothing", "[interrupt][slow]") {
  const Place place;
  REQUIRE(place.shell("$PSIM run short.toml --trace events --out run >out").code == 0);
  for (const char* command :
       {"run short.toml --json", "run short.toml --out other --force", "compare short.toml",
        "check short.toml", "replay run", "verify run", "explain ssp", "list", "schema", "--help",
        "run --help", "--version", "run missing.toml", "run short.toml --out tmp/..", "frobnicate", "run",
        "replay nothing"}) {
    const Outcome usual = place.shell(std::string("$PSIM ") + command);
    for (const char* stream : {" 2>&-", " 2>/dev/full", " 2>&- <&-"}) {
      const Outcome outcome = place.shell(std::string("$PSIM ") + command + stream);
      INFO(command << stream);
      CHECK(outcome.code == usual.code);
      CHECK(outcome.out == usual.out);
    }
  }
  CHECK(place.shell("$PSIM fuzz --runs 1 2>&-").code == 0);
  // A reader of stderr that has gone is no reason to stop either.
  place.shell("{ sleep 0.1; $PSIM run missing.toml 2>&1 >out; echo $? >code; } | true");
  CHECK(content(place.at("code")) == "2\n");
}

TEST_CASE("an answer that cannot be written is exit code 3, with a reason", "[interrupt][slow]") {
  const Place place;
  REQUIRE(place.shell("$PSIM run short.toml --trace events --out run >out").code == 0);
  for (const char* command :
       {"run short.toml --json", "run short.toml --out run", "compare short.toml",
        "compare short.toml --json", "check short.toml", "replay run", "verify run", "explain ssp", "list",
        "schema", "--help", "run --help", "--version", "fuzz --runs 1"}) {
    for (const char* stream : {" >/dev/full", " >&-"}) {
      const Outcome outcome = place.shell(std::string("$PSIM ") + command + stream);
      INFO(command << stream << "\n" << outcome.err);
      CHECK(outcome.code == 3);
      CHECK(contains(outcome.err, "error: "));
      const Outcome mute = place.shell(std::string("$PSIM ") + command + stream + " 2>&-");
      CHECK(mute.code == 3);
    }
  }
}

TEST_CASE("what cannot be written down is refused before the run", "[interrupt]") {
  const Place place;
  std::ofstream(place.at("b\xe4r.toml")) << long_scenario;
  for (const char* command : {"run", "compare", "check"}) {
    const Outcome outcome = place.shell(std::string("$PSIM ") + command + " b*r.toml");
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.err, "not UTF-8"));
  }
  for (const char* command : {"compare short.toml --json", "fuzz --runs 1"}) {
    const Outcome outcome = place.shell(std::string("TMPDIR=/no/such/folder $PSIM ") + command);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.err, "TMPDIR is /no/such/folder"));
  }
  CHECK(place.shell("TMPDIR=/no/such/folder $PSIM compare short.toml --out study").code == 0);
  CHECK(contains(content(place.at("study/study.json")), "\"cause\": null"));  // its record had no place
}

TEST_CASE("an empty TMPDIR is none", "[interrupt]") {
  const Place place;
  CHECK(place.shell("TMPDIR= $PSIM compare short.toml --json").code == 0);
}

TEST_CASE("psim fuzz says at its beginning that it cannot write what it finds", "[interrupt]") {
  const Place place;
  for (const char* out : {"short.toml", "short.toml/failures"}) {
    const Outcome outcome = place.shell(std::string("$PSIM fuzz --runs 1 --out ") + out);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.err, "short.toml is not a folder"));
  }
  CHECK(place.shell("$PSIM fuzz --runs 1 --out ''").code == 2);
  CHECK(place.shell("$PSIM run short.toml --out ''").code == 2);
}

// Where nothing may be mounted, there is nothing to test.
TEST_CASE("psim fuzz stops at a full disk, which is no failure of psim's", "[interrupt]") {
  const Place place;
  const std::string mount = "export PSIM; unshare -rm sh -c 'mount -t tmpfs -o size=";
  if (place.shell(mount + "1m tmpfs tmp'").code != 0) return;
  for (const char* size : {"16k", "64k", "300k"}) {
    const Outcome outcome = place.shell(mount + size + " tmpfs tmp && TMPDIR=tmp $PSIM fuzz --runs 2'");
    INFO(size << outcome.out << outcome.err);
    CHECK(outcome.code == 3);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, "No space left on device"));
    CHECK(contains(outcome.err, "= help:"));
  }
}
