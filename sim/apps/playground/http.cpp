#include "sim/apps/playground/http.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "sim/apps/cli/progress.hpp"
#include "sim/runs/host_clock.hpp"

namespace psim::cli {
namespace {

thread_local std::string asking;  // the client of this thread

// Identifies a client: an IPv4 address, or the first half of an IPv6 address, because one machine may use all
// second halves.
std::string address_of(socket_t socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return {};
  const auto text = [](const void* bytes, std::size_t count) {
    return std::string(static_cast<const char*>(bytes), count);
  };
  if (peer.ss_family == AF_INET) return text(&reinterpret_cast<const sockaddr_in&>(peer).sin_addr, 4);
  if (peer.ss_family != AF_INET6) return {};
  const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
  return IN6_IS_ADDR_V4MAPPED(&six) ? text(&six.s6_addr[12], 4) : text(&six, 8);
}

int milliseconds_until(double deadline) {  // by host_seconds
  return static_cast<int>(std::ceil(1e3 * std::max(0.0, deadline - host_seconds())));
}

// A connection whose request must arrive before a deadline, however slowly the bytes come. The library's
// versions in Debian 12 and 13 use different names for the same functions, so no function here is marked
// `override`.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(socket_t socket, const Bounds& bounds)
      : socket_(socket), writing_(bounds.writing), read_by_(host_seconds() + bounds.reading) {}

  bool is_readable() const { return waits_for(POLLIN, read_by_); }
  // Whether the client is still connected.
  bool is_writable() const {
    char byte = 0;
    const ssize_t got = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool is_gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    return !is_gone;
  }
  bool wait_readable() const { return is_readable(); }
  bool wait_writable() const { return is_writable(); }
  time_t duration() const { return 0; }
  ssize_t read(char* bytes, std::size_t size) {
    return waits_for(POLLIN, read_by_) ? recv(socket_, bytes, size, 0) : -1;
  }
  ssize_t write(const char* bytes, std::size_t size) {
    const double by = host_seconds() + writing_;
    std::size_t sent = 0;
    while (sent < size) {
      if (!waits_for(POLLOUT, by)) return -1;
      const ssize_t more = send(socket_, bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (more < 0 && errno != EAGAIN && errno != EINTR) return -1;
      if (more > 0) sent += static_cast<std::size_t>(more);
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const {}
  void get_local_ip_and_port(std::string&, int&) const {}
  socket_t socket() const { return socket_; }

 private:
  bool waits_for(short what, double deadline) const {
    pollfd one{.fd = socket_, .events = what, .revents = 0};
    int ready = 0;
    do {
      ready = poll(&one, 1, milliseconds_until(deadline));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
  }

  socket_t socket_;
  double writing_, read_by_;
};

// The accepting thread hands each connection to the server, which has its own threads.
class AtOnce final : public httplib::TaskQueue {
 public:
  explicit AtOnce(Places& places) : places_(places) {}

  // Later versions of the library expect a result.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Taken enqueue(std::function<void()> work) override {
    work();
    return static_cast<Taken>(true);
  }
  void shutdown() override { places_.wait_until_empty(); }

 private:
  Places& places_;
};

}  // namespace

bool Places::take(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (taken_ == most_) return false;
  std::size_t& own = by_address_[address];
  if (own == share_) return false;
  ++own;
  ++taken_;
  return true;
}

void Places::leave(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (--by_address_[address] == 0) by_address_.erase(address);
  --taken_;
  is_empty_.notify_all();
}

void Places::wait_until_empty() {
  std::unique_lock lock(mutex_);
  is_empty_.wait(lock, [this] { return taken_ == 0; });
}

// Later versions of the library also need both addresses.
template <class Self>
bool BoundedServer::answer(Self& self, httplib::Stream& stream) {
  // A request for many ranges would multiply a page in memory.
  const auto set_up = [](httplib::Request& request) { request.ranges.clear(); };
  bool is_closed = false;
  if constexpr (requires { self.process_request(stream, true, is_closed, set_up); })
    return self.process_request(stream, true, is_closed, set_up);
  else return self.process_request(stream, std::string(), 0, std::string(), 0, true, is_closed, set_up);
}

BoundedServer::BoundedServer(const Bounds& bounds)
    : bounds_(bounds), places_(bounds.connections, bounds.connections_each) {
  set_payload_max_length(bounds.body);
  set_socket_options([](socket_t socket) {  // no other process may listen on the same port
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  new_task_queue = [this] { return new AtOnce(places_); };
}

int BoundedServer::bind(const std::string& address, int port) {
  if (port == 0) port = bind_to_any_port(address);
  else if (!bind_to_port(address, port)) return -1;
  constexpr int waiting = 512;  // connections; with the library's default, further clients wait for seconds
  if (port > 0) ::listen(svr_sock_, waiting);
  return port;
}

const std::string& BoundedServer::address_asking() { return asking; }

bool BoundedServer::serve_and_close(socket_t socket) {
  BoundedStream stream(socket, bounds_);
  const bool ok = answer(*this, stream);
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return ok;
}

bool BoundedServer::process_and_close_socket(socket_t socket) {
  const std::string address = address_of(socket);
  if (places_.take(address)) {
    try {
      std::thread([this, socket, address] {
        asking = address;
        serve_and_close(socket);
        places_.leave(address);
      }).detach();
      return true;
    } catch (const std::system_error&) {  // the machine cannot start more threads
      places_.leave(address);
    }
  }
  constexpr std::string_view busy =
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  const bool is_said = send(socket, busy.data(), busy.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return is_said;
}

}  // namespace psim::cli
