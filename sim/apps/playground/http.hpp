// A web server for the user of one machine. Other machines may send it anything, so it limits connections,
// time and bytes.
#pragma once

#include <httplib.h>
#undef _res  // a macro of <resolv.h>; Eigen has names like it

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace psim::cli {

struct Bounds {
  std::size_t connections =
      48;  // at the same time; the server answers further connections with 503 without reading them
  std::size_t connections_each = 12;  // at the same time from one address
  std::size_t body = 64 * 1024;       // largest size of a request in bytes
  double reading = 5;                 // seconds until the complete request must have arrived
  double writing = 10;                // seconds until the client must have read the answer
};

// Limits the connections, in total and for each address.
class Places {
 public:
  Places(std::size_t most, std::size_t share) : most_(most), share_(share) {}
  // False: no place is free for this address.
  bool take(const std::string& address);
  void leave(const std::string& address);
  void wait_until_empty();

 private:
  std::size_t most_, share_, taken_ = 0;
  std::map<std::string, std::size_t> by_address_;
  std::mutex mutex_;
  std::condition_variable is_empty_;
};

// Takes one request per connection.
class BoundedServer : public httplib::Server {
 public:
  explicit BoundedServer(const Bounds& bounds);

  // Binds the server to a port (0: any free port) and returns the port. -1: this failed.
  int bind(const std::string& address, int port);

  // The address of the client that this thread answers. It is the same for all connections of one client.
  static const std::string& address_asking();

 private:
  bool process_and_close_socket(socket_t socket) override;
  bool serve_and_close(socket_t socket);
  template <class Self>
  static bool answer(Self& self, httplib::Stream& stream);

  Bounds bounds_;
  Places places_;
};

}  // namespace psim::cli
