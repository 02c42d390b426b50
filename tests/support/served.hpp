// A `psim serve` of a test, and what one can send to it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/run_psim.hpp"

namespace psim::test {

class Served {
 public:
  explicit Served(const std::vector<std::string>& options = {});
  ~Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  int port() const { return port_; }
  const std::string& token() const { return token_; }
  pid_t process() const { return process_; }
  // Where it keeps its runs.
  const std::filesystem::path& scratch() const { return folder_.path(); }

  // Sends this signal; its exit code.
  int stop(int signal);

 private:
  TemporaryFolder folder_;
  pid_t process_ = 0;
  int port_ = 0;
  std::string token_;
};

// Most memory that the server itself has had, in MB. AddressSanitizer's shadow memory would count, too.
double most_memory(const Served& served);

// A connection to it, from an address of this machine; -1 where it takes none.
int connected(int port, const char* from = "127.0.0.1");
// All that comes until the other side closes, or until so many seconds are over.
std::string received(int socket, double seconds = 60);

struct Answer {
  int status = 0;  // of HTTP; 0: there was no answer
  std::string head, body;
};
// Sends these bytes and reads the answer.
Answer sent(int port, const std::string& bytes, const char* from = "127.0.0.1");
// A request with the right Host and token, and `head` (lines with their ends) besides.
Answer asked(const Served& served, const std::string& method, const std::string& path,
             const std::string& body = {}, const std::string& head = {});

}  // namespace psim::test
