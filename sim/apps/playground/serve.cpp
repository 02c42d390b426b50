// psim serve: the playground, a page whose sliders change a scenario that runs at once.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "analysis/page/page.hpp"
#include "analysis/run_files.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/playground/commands.hpp"
#include "sim/apps/playground/door.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"

namespace psim::cli {

// Runs untrusted scenarios in separate processes with limits on their resources.
class Player {
 public:
  // Runs `at_once` scenarios at the same time, each in its own folder in `scratch`, and lets `waiting` more
  // wait. One address gets at most half of these places.
  Player(fs::path scratch, const Limits& limits, unsigned at_once, unsigned waiting);

  // Sends a line of JSON to the client; false if the client has left.
  using Tell = std::function<bool(const std::string& line)>;

  // Runs a scenario for the client `address` and reports its progress: {"waiting": ...}, {"progress": ...},
  // and finally either {"result": the document of `psim report --json`} or {"error": text}. Returns early if
  // the client leaves. `errors` returns the errors of the scenario, or an empty text. It is called just
  // before the run. Throws std::exception if the machine has no room for the run.
  using Errors = std::function<std::string()>;
  void play(const std::string& address, const std::string& scenario, const Errors& errors, const Tell& tell);

  // Ends all runs, and starts no further runs.
  void stop();

 private:
  class Slot;

  bool runs(std::vector<std::string> words, const fs::path& folder, const Tell& tell, std::string& error);
  std::string answer_to(const std::string& address, const std::string& scenario, const Errors& errors,
                        const Tell& tell);

  fs::path scratch_;
  Limits limits_;
  unsigned at_once_, waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned running_ = 0;
  // The waiting runs, in order: clients with fewer other runs come first, then earlier requests.
  struct Ticket {
    unsigned others = 0;
    std::uint64_t number = 0;
    auto operator<=>(const Ticket&) const = default;
  };
  std::set<Ticket> line_;
  std::map<std::string, unsigned> by_address_;  // waiting and active runs
  std::uint64_t number_ = 0;
  std::atomic<bool> stops_ = false;
};

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
            "--json", "--out", "it"},
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

namespace {

Json controls() {
  Json all = Json::array();
  for (const SketchSetting& one : settings()) {
    all.push_back({{"name", one.name},
                   {"label", one.label},
                   {"doc", one.doc},
                   {"values", one.values},
                   {"usual", one.usual},
                   {"rare", one.rare}});
    if (!one.only_with.empty()) all.back()["when"] = {{one.only_with, one.value}};
  }
  return all;
}

// The initial view of the page: a slow worker, with and without a barrier.
Json first_sight() {
  return {{{"slowdown", "4"}, {"consistency", "bsp"}}, {{"slowdown", "4"}, {"consistency", "asp"}}};
}

// Checks the settings from a page: known names, each with one of its values. Throws Refused.
Sketch sketch_of(const Json& given) {
  Sketch sketch;
  for (const auto& [name, value] : given.items()) {
    const auto setting =
        std::ranges::find_if(settings(), [&](const SketchSetting& s) { return s.name == name; });
    if (setting == settings().end()) throw Refused("unknown setting", "");
    if (!value.is_string() ||
        std::ranges::find(setting->values, value.get<std::string>()) == setting->values.end())
      throw Refused(fmt::format("{} does not have this value", setting->name), "");
    sketch[name] = value;
  }
  return sketch;
}

// A request: {"settings": {...}} or {"scenario": "..."}.
struct Wanted {
  std::string scenario;
  std::optional<Sketch> sketch = {};  // if the request has settings
};

// Throws Refused.
Wanted wanted_in(const std::string& body) {
  const Json asked = analysis::json_in(body);
  if (!asked.is_object() || asked.size() != 1)
    throw Refused("a request needs either settings or a scenario", "");
  if (asked.contains("scenario") && asked["scenario"].is_string()) return {asked["scenario"]};
  if (asked.contains("settings") && asked["settings"].is_object()) {
    Sketch sketch = sketch_of(asked["settings"]);
    return {scenario_text(sketch), std::move(sketch)};
  }
  throw Refused("a request needs either settings or a scenario", "");
}

class Playground {
 public:
  Playground(const ServeCommand& asked, const fs::path& scratch)
      : player_(scratch,
                {.cpu_seconds = asked.seconds,
                 .address_space = static_cast<std::uint64_t>(asked.memory * 1e9),
                 .file_bytes = std::uint64_t{256} << 20U},
                thread_count(asked.jobs), 16),
        page_(reply_of(
            200, analysis::play_page(
                     {{"controls", controls()}, {"begin", first_sight()}, {"challenges", challenges()}}))),
        door_(asked, Bounds{},
              Site{[this](const RequestHead& head) { return at_head(head); },
                   [this](const RequestHead& head, const std::string& body) { return run(head, body); }}) {
    page_.type = "text/html; charset=utf-8";
  }

  // Returns the signal that ends it.
  int play(const InterruptsHeld& held) {
    door_.open();
    say("Anyone with this address can run scenarios here. Ctrl-C stops the server.\n");
    return Door::ended_by(held);
  }

  ~Playground() { stop(); }
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  void stop() {
    player_.stop();
    door_.close();
  }

 private:
  // Accepts only pages with the token.
  std::optional<Reply> at_head(const RequestHead& head) const {
    if (!door_.is_token(Door::token_in(head)))
      return reply_of(403, "open the address that psim serve printed\n");
    if (Door::asks_with_token(head)) return page_;
    if (head.method == "POST" && head.target == "/run") return std::nullopt;
    return reply_of(404, "there is nothing here\n");
  }

  Reply run(const RequestHead& head, const std::string& body) {
    Wanted wanted;
    try {
      wanted = wanted_in(body);
    } catch (const Refused& refusal) {
      return reply_of(400, std::string(refusal.what()) + "\n");
    }
    const auto lines = [this, wanted, address = head.address](const Reply::Tell& tell) {
      try {
        const Player::Errors errors = [&wanted] {
          return wanted.sketch ? errors_of(*wanted.sketch) : std::string();
        };
        if (tell(Json{{"scenario", wanted.scenario}}.dump()))
          player_.play(address, wanted.scenario, errors, tell);
      } catch (const std::exception&) {  // the client must not see the name of the folder
        tell(R"({"error":"this machine has no room for a run now: check the disk of TMPDIR\n"})");
      }
    };
    return {.type = "application/x-ndjson", .lines = lines};
  }

  Player player_;
  Reply page_;
  Door door_;
};

}  // namespace

int serve(const ServeCommand& asked) {
  if (!asked.lab.empty()) return serve_class(asked);
  const ScratchFolder scratch("psim-serve");
  const InterruptsHeld held;
  const int signal = Playground(asked, scratch.path()).play(held);
  throw Interrupted{signal, "the playground is closed"};
}

}  // namespace psim::cli
