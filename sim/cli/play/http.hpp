// A web server for one machine's user, which the rest of the network may well send nonsense to: bounded in
// connections, in time and in bytes.
#pragma once

#include <httplib.h>
#undef _res  // a macro of <resolv.h>; Eigen has names like it

#include <cstddef>
#include <string>

namespace psim::cli {

struct Bounds {
  std::size_t connections = 48;  // that are answered at once; others get 503 without being read
  std::size_t body = 64 * 1024;  // bytes of a request
  double reading = 5;            // seconds until all of a request must have come
  double writing = 10;           // seconds until the other side must have taken what is sent
};

// One request for each connection.
class BoundedServer : public httplib::Server {
 public:
  explicit BoundedServer(const Bounds& bounds);

  // Binds it to a port, 0: a free one, and returns that; -1: it cannot be had.
  int bind(const std::string& address, int port);

 private:
  bool process_and_close_socket(socket_t socket) override;
  template <class Self>
  static bool answer(Self& self, httplib::Stream& stream);

  Bounds bounds_;
};

}  // namespace psim::cli
