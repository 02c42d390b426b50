// Runs untrusted scenarios in separate processes with limits on their resources.
#pragma once

#include <atomic>
#include <compare>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "sim/apps/cli/command.hpp"
#include "sim/runs/process.hpp"

namespace psim::cli {

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

}  // namespace psim::cli
