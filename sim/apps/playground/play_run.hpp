// Runs of scenarios that somebody else has written: in processes of their own, with bounds on what each
// takes.
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
  // Runs `at_once` at a time in folders of their own in `scratch`, and lets `waiting` more wait. One address
  // has at most half of these places.
  Player(fs::path scratch, const Limits& limits, unsigned at_once, unsigned waiting);

  // Takes a line of JSON to whoever has asked; false when nobody is there any more.
  using Tell = std::function<bool(const std::string& line)>;

  // Runs the scenario that `address` asks for, telling how far it is: {"waiting": ...}, {"progress": ...},
  // and at last either
  // {"result": the document of `psim report --json`} or {"error": text}. Returns early when nobody listens.
  // `errors` returns the errors of the scenario, or an empty text. It is called when the run's turn has come.
  // Throws std::exception where the machine has no room for it.
  using Errors = std::function<std::string()>;
  void play(const std::string& address, const std::string& scenario, const Errors& errors, const Tell& tell);

  // Ends all runs, and lets none begin.
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
  // Those that wait, in their order: who has fewer other runs here comes first, and then who came first.
  struct Ticket {
    unsigned others = 0;
    std::uint64_t number = 0;
    auto operator<=>(const Ticket&) const = default;
  };
  std::set<Ticket> line_;
  std::map<std::string, unsigned> by_address_;  // runs that wait or run
  std::uint64_t number_ = 0;
  std::atomic<bool> stops_ = false;
};

}  // namespace psim::cli
