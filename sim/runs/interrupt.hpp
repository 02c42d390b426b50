// What SIGINT and SIGTERM do: psim ends with exit code 130 or 143, in whatever it was, and leaves nothing
// half-done behind.
#pragma once

#include <csignal>
#include <string>

namespace psim {

// Thrown where an interrupt is handled by the ordinary way out. `message` says what is done.
struct Interrupted {
  int signal;
  std::string message;
};

// From now on an interrupt says so and ends the process at once, whatever it is doing, and the end of a child
// is noticed, whatever was inherited. To be called first.
void end_at_interrupt();

// While this lives, an interrupt first removes `folder` with the files in it, and then says `message`.
class RemovedAtInterrupt {
 public:
  RemovedAtInterrupt(const std::string& folder, const std::string& message);
  ~RemovedAtInterrupt();
  RemovedAtInterrupt(const RemovedAtInterrupt&) = delete;
  RemovedAtInterrupt& operator=(const RemovedAtInterrupt&) = delete;
};

// While this lives, interrupts wait until they are asked for. For the main thread while it has no others.
class InterruptsHeld {
 public:
  InterruptsHeld();
  ~InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;

  // The signal that has come; 0: none has.
  int pending() const;
  // Returns when a child has ended, or an interrupt has come.
  void wait() const;

 private:
  sigset_t before_;
};

}  // namespace psim
