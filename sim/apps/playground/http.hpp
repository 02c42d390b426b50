// A web server for one machine's user, which the rest of the network may well send nonsense to: bounded in
// connections, in time and in bytes.
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
  std::size_t connections = 48;       // that are answered at once; others get 503 without being read
  std::size_t connections_each = 12;  // of them, of one address
  std::size_t body = 64 * 1024;       // bytes of a request
  double reading = 5;                 // seconds until all of a request must have come
  double writing = 10;                // seconds until the other side must have taken what is sent
};

// Places for connections, of which each address has its share.
class Places {
 public:
  Places(std::size_t most, std::size_t share) : most_(most), share_(share) {}
  // False: there is none for it.
  bool take(const std::string& address);
  void leave(const std::string& address);
  void wait_until_empty();

 private:
  std::size_t most_, share_, taken_ = 0;
  std::map<std::string, std::size_t> by_address_;
  std::mutex mutex_;
  std::condition_variable is_empty_;
};

// One request for each connection.
class BoundedServer : public httplib::Server {
 public:
  explicit BoundedServer(const Bounds& bounds);

  // Binds it to a port, 0: a free one, and returns that; -1: it cannot be had.
  int bind(const std::string& address, int port);

  // Who has sent the request that this thread answers: the same for all connections of one client.
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
