#include "sim/apps/playground/play_run.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>

#include "sim/apps/cli/progress.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/host_clock.hpp"

namespace psim::cli {
namespace {

constexpr std::chrono::milliseconds slice{50};

std::string line_of(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The new complete lines of a file since the last call.
class Tail {
 public:
  explicit Tail(const fs::path& path) : file_(path) {}
  std::optional<std::string> line() {
    std::string more;
    file_.clear();
    if (!std::getline(file_, more)) return std::nullopt;
    part_ += more;
    if (file_.eof()) return std::nullopt;  // the line is not complete yet
    return std::exchange(part_, {});
  }

 private:
  std::ifstream file_;
  std::string part_;
};

// The last progress in a run's log.
std::optional<Json> progress_in(Tail& log) {
  std::optional<Json> last;
  while (const std::optional<std::string> line = log.line()) {
    Json document = Json::parse(*line, nullptr, false);
    if (document.is_object()) last = std::move(document);
  }
  return last;
}

// The stderr of a run without its progress.
std::string said_in(const fs::path& log) {
  std::ifstream file(log);
  std::string text;
  constexpr std::size_t most = 16 * 1024;  // bytes; a longer text has no readers
  for (std::string line; text.size() < most && std::getline(file, line);) {
    if (!line.starts_with('{')) text += line + "\n";
  }
  return text;
}

// Why a process ended without an answer.
std::string complaint(int status, const Limits& limits, const fs::path& log) {
  if (WIFEXITED(status) && WEXITSTATUS(status) <= answer_is_no) return "";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    return fmt::format("it took more than {} s of processor time: use fewer workers or epochs\n",
                       limits.cpu_seconds);
  const std::string text = said_in(log);
  if (WIFEXITED(status) && WEXITSTATUS(status) == bad_input) return text;
  return fmt::format("{}the run ended with {}; it may use {:.2g} GB of memory\n", text, how_it_ended(status),
                     static_cast<double>(limits.address_space) / 1e9);
}

// A folder that the destructor removes.
struct Folder {
  explicit Folder(fs::path where) : path(std::move(where)) { fs::create_directory(path); }
  ~Folder() { remove_scratch(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

}  // namespace

// The right to run. Not given if too many runs wait, the client has left, or the server stops.
class Player::Slot {
 public:
  Slot(Player& player, const std::string& address, const Tell& tell) : player_(player), address_(address) {
    std::unique_lock lock(player_.mutex_);
    const unsigned places = player_.waiting_ + player_.at_once_, own = player_.by_address_[address];
    if (player_.running_ + player_.line_.size() >= places || own >= std::max(1U, places / 2)) {
      forget();
      lock.unlock();
      tell(line_of({{"error", "too many runs are waiting; try again in a moment\n"}}));
      return;
    }
    player_.by_address_[address] = own + 1;
    const auto place = player_.line_.insert({own, ++player_.number_}).first;
    const auto may_run = [&] {
      return player_.running_ < player_.at_once_ && place == player_.line_.begin();
    };
    while (!may_run() && !player_.stops_) {
      const auto ahead = player_.running_ + std::distance(player_.line_.begin(), place);
      lock.unlock();
      const bool listens = tell(line_of({{"waiting", ahead}}));
      lock.lock();
      if (!listens) break;
      player_.changed_.wait_for(lock, 4 * slice);
    }
    is_held_ = may_run() && !player_.stops_;
    player_.line_.erase(place);
    if (is_held_) ++player_.running_;
    else --player_.by_address_[address_];
    forget();
    player_.changed_.notify_all();
  }
  ~Slot() {
    if (!is_held_) return;
    const std::lock_guard lock(player_.mutex_);
    --player_.running_;
    --player_.by_address_[address_];
    forget();
    player_.changed_.notify_all();
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  bool is_held() const { return is_held_; }

 private:
  void forget() {
    if (player_.by_address_[address_] == 0) player_.by_address_.erase(address_);
  }

  Player& player_;
  std::string address_;
  bool is_held_ = false;
};

Player::Player(fs::path scratch, const Limits& limits, unsigned at_once, unsigned waiting)
    : scratch_(std::move(scratch)), limits_(limits), at_once_(at_once), waiting_(waiting) {}

void Player::stop() {
  const std::lock_guard lock(mutex_);
  stops_ = true;
  changed_.notify_all();
}

// Whether `psim WORDS...` has written an answer to the file "out". If not, `error` says why, or is empty if
// the client has left.
bool Player::runs(std::vector<std::string> words, const fs::path& folder, const Tell& tell,
                  std::string& error) {
  const fs::path log = folder / "log";
  Limits limits = limits_;
  limits.folder = folder.string();
  constexpr std::uint64_t most_answer = std::uint64_t{32} << 20U;  // bytes; this process reads the whole file
  if (words.front() == "report") limits.file_bytes = std::min(limits.file_bytes, most_answer);
  Child child(std::move(words), folder / "out", log, limits);
  Tail tail(log);
  const double patience = host_seconds() + 20.0 * static_cast<double>(limits_.cpu_seconds);
  while (!child.ends_within(slice)) {
    const std::optional<Json> progress = progress_in(tail);
    const bool listens = tell(line_of(progress ? Json{{"progress", *progress}} : Json{{"running", true}}));
    if (!listens || stops_ || host_seconds() > patience) return false;
  }
  error = complaint(child.wait(), limits, log);
  return error.empty();
}

// The last line to send; empty if the client has left.
std::string Player::answer_to(const std::string& address, const std::string& scenario, const Errors& errors,
                              const Tell& tell) {
  const Slot slot(*this, address, tell);
  if (!slot.is_held()) return "";
  if (const std::string wrong = errors(); !wrong.empty()) return line_of({{"error", wrong}});
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++number_;
  }
  const Folder folder(scratch_ / fmt::to_string(number));
  write_file(folder.path / "scenario.toml", scenario);
  std::string error;
  if (runs({"run", "scenario.toml", "--no-files", "--trace", "events", "--threads", "1", "--progress", "json",
            "--out", "it"},
           folder.path, tell, error) &&
      runs({"report", "it", "--json"}, folder.path, tell, error)) {
    std::string document = read_file(folder.path / "out");  // one line, possibly large
    if (document.ends_with('\n')) document.pop_back();
    return "{\"result\":" + document + "}";
  }
  return error.empty() ? "" : line_of({{"error", error}});
}

// A client that reads slowly does not occupy a place for runs.
void Player::play(const std::string& address, const std::string& scenario, const Errors& errors,
                  const Tell& tell) {
  if (const std::string answer = answer_to(address, scenario, errors, tell); !answer.empty()) tell(answer);
}

}  // namespace psim::cli
