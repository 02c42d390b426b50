// SIGINT, SIGTERM and SIGUSR1 end psim at any time, with exit code 128 + number. psim leaves nothing
// half-done behind.
#pragma once

#include <csignal>
#include <string>

namespace psim {

// Thrown after an interrupt where psim ends by the normal path. `message` says what is done.
struct Interrupted {
  int signal;
  std::string message;
};

// From now on an interrupt prints a message and ends the process at once. The process also notices the end of
// a child, whatever signal settings it inherited. Call it first.
void end_at_interrupt();

// While this object lives, an interrupt first removes `folder` with its files, and then prints `message`.
class RemovedAtInterrupt {
 public:
  RemovedAtInterrupt(const std::string& folder, const std::string& message);
  ~RemovedAtInterrupt();
  RemovedAtInterrupt(const RemovedAtInterrupt&) = delete;
  RemovedAtInterrupt& operator=(const RemovedAtInterrupt&) = delete;
};

// While this object lives, interrupts wait until the program asks for them. Only for a process with one
// thread.
class InterruptsHeld {
 public:
  InterruptsHeld();
  ~InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;

  // The signal that has arrived; 0: none.
  int pending() const;
  // Returns when a child has ended or an interrupt has arrived.
  void wait() const;

 private:
  sigset_t before_;
};

}  // namespace psim
