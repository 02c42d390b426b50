#include "tests/support/run_psim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/support/catch.hpp"

namespace psim::test {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void become(const std::vector<std::string>& words, const fs::path& folder,
                         const std::vector<std::string>& environment, unsigned limit_s, const fs::path& out,
                         const fs::path& err) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
  const bool ready = freopen("/dev/null", "r", stdin) != nullptr &&
                     freopen(out.c_str(), "w", stdout) != nullptr &&
                     freopen(err.c_str(), "w", stderr) != nullptr && chdir(folder.c_str()) == 0;
  // Limits stay set in the new program. They are of processor time, so that a busy machine ends nothing, with
  // room for slow ones and sanitizers; the alarm is for what waits for ever.
  const rlimit most{.rlim_cur = 5 * limit_s, .rlim_max = 5 * limit_s + 1};
  setrlimit(RLIMIT_CPU, &most);
  alarm(25 * limit_s);
  if (ready) execvp(argv[0], argv.data());
  _exit(127);
}

// A pseudo-terminal that changes no bytes, and all that is written to it.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0)
      throw std::runtime_error("posix_openpt");
    name_ = ptsname(master_);
    slave_ = open(name_.c_str(), O_RDWR | O_NOCTTY);
    termios settings{};
    tcgetattr(slave_, &settings);
    cfmakeraw(&settings);
    tcsetattr(slave_, TCSANOW, &settings);
    reader_ = std::thread([this] {
      char bytes[4096];
      for (ssize_t n = 0; (n = read(master_, bytes, sizeof bytes)) > 0;)
        text_.append(bytes, static_cast<std::size_t>(n));
    });
  }
  const std::string& name() const { return name_; }
  // After the end of the programs that write to it.
  std::string text() {
    close(slave_);
    reader_.join();
    close(master_);
    return text_;
  }

 private:
  int master_, slave_ = -1;
  std::string name_, text_;
  std::thread reader_;
};

}  // namespace

Outcome psim_in_terminal(const std::vector<std::string>& arguments, const fs::path& folder,
                         const std::vector<std::string>& environment) {
  std::vector<std::string> words{binary().string()}, all{"TERM=xterm-256color"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), environment.begin(), environment.end());
  Terminal out, err;
  const pid_t child = fork();
  if (child == 0) become(words, folder, all, 120, out.name(), err.name());
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.text(), err.text()};
}

Outcome process(const std::vector<std::string>& words, const fs::path& folder,
                const std::vector<std::string>& environment, unsigned limit_s) {
  const TemporaryFolder files;
  const fs::path out = files.path() / "out", err = files.path() / "err";
  const pid_t child = fork();
  if (child == 0) become(words, folder, environment, limit_s, out, err);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(out), content(err)};
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outcome psim(const std::vector<std::string>& arguments, const fs::path& folder,
             const std::vector<std::string>& environment, unsigned limit_s) {
  std::vector<std::string> words{binary().string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return process(words, folder, environment, limit_s);
}

Json run_toml(const std::string& toml, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << toml;
  std::vector<std::string> words{"run", "scenario.toml", "--json"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Outcome outcome = psim(words, folder.path());
  INFO(toml << "\n" << outcome.err);
  REQUIRE((outcome.code == 0 || outcome.code == 1));
  return Json::parse(outcome.out);
}

fs::path source_folder() { return PSIM_SOURCE; }
fs::path binary() { return PSIM_BINARY; }

bool is_sanitized() {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return false;
#endif
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "psim-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

const std::vector<std::string>& contexts() {
#ifdef __x86_64__
  static const std::vector<std::string> one{"thread"}, all{"raw", "boost", "ucontext", "thread"};
#else
  static const std::vector<std::string> one{"thread"}, all{"boost", "ucontext", "thread"};
#endif
  return is_sanitized() ? one : all;
}

}  // namespace psim::test
