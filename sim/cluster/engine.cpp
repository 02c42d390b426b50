#include "sim/cluster/engine.hpp"

#include <xbt/log.h>
#include <simgrid/s4u.hpp>

#include <csignal>

#include "sim/cluster/platform.hpp"

namespace psim {
namespace {

// Sanitizers follow the stacks of threads, but report SimGrid's own stacks as overflows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool needs_threads = true;
#else
constexpr bool needs_threads = false;
#endif

std::string default_context() {
  return needs_threads ? context_factories().back() : context_factories().front();
}

// SimGrid replaces this signal's handler; its handler ends the program with exit code 1. This keeps the old
// handler.
class KeptHandler {
 public:
  explicit KeptHandler(int signal) : signal_(signal) { sigaction(signal_, nullptr, &kept_); }
  ~KeptHandler() { sigaction(signal_, &kept_, nullptr); }
  KeptHandler(const KeptHandler&) = delete;
  KeptHandler& operator=(const KeptHandler&) = delete;

 private:
  int signal_;
  struct sigaction kept_ {};
};

}  // namespace

const std::vector<std::string>& context_factories() {
#ifdef __x86_64__
  static const std::vector<std::string> all{"raw", "boost", "ucontext", "thread"};
#else
  static const std::vector<std::string> all{"boost", "ucontext", "thread"};
#endif
  return all;
}

Engine::Engine(const Scenario& scenario, const std::string& context) {
  xbt_log_control_set("root.thresh:critical");
  xbt_log_control_set("ker_engine.thresh:critical root.app:file:/dev/null");
  words_ = {"psim"};
  for (const std::string& option : engine_options(scenario)) words_.push_back("--cfg=" + option);
  words_.push_back("--cfg=contexts/factory:" + (context.empty() ? default_context() : context));
  for (std::string& word : words_) argv_.push_back(word.data());
  argv_.push_back(nullptr);
  argc_ = static_cast<int>(words_.size());
  const KeptHandler of_interrupts(SIGINT);
  engine_ = std::make_unique<simgrid::s4u::Engine>(&argc_, argv_.data());
}

Engine::~Engine() = default;

void Engine::run(const std::function<void()>& on_deadlock) {
  simgrid::s4u::Engine::on_deadlock_cb(on_deadlock);
  engine_->run();
}

}  // namespace psim
