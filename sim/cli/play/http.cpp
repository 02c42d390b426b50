#include "sim/cli/play/http.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "sim/cli/progress.hpp"

namespace psim::cli {
namespace {

thread_local bool is_full = false;  // whatever this thread is asked now, there is no room for

int milliseconds_until(double deadline) {  // by host_seconds
  return static_cast<int>(std::ceil(1e3 * std::max(0.0, deadline - host_seconds())));
}

// A connection whose request must have come by a date, however slowly its bytes drop in. Debian 12 and 13
// have versions of the library that ask for the same by other names, so nothing here says what it overrides.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(socket_t socket, const Bounds& bounds)
      : socket_(socket), writing_(bounds.writing), read_by_(host_seconds() + bounds.reading) {}

  bool is_readable() const { return waits_for(POLLIN, read_by_); }
  // Whether the other side is still there.
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

// A thread for each connection, up to a number; the others are told so by the thread that accepts.
class Crew final : public httplib::TaskQueue {
 public:
  explicit Crew(std::size_t most) : most_(most) {}

  // Later versions of the library want to hear that it is taken.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Taken enqueue(std::function<void()> work) override {
    begin(work);
    return static_cast<Taken>(true);
  }
  void shutdown() override {
    std::unique_lock lock(mutex_);
    is_done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void begin(const std::function<void()>& work) {
    {
      const std::lock_guard lock(mutex_);
      is_full = busy_ == most_;
      if (!is_full) ++busy_;
    }
    if (is_full) return work();
    try {
      std::thread([this, work] {
        work();
        leave();
      }).detach();
    } catch (const std::system_error&) {  // the machine has no more threads
      leave();
      is_full = true;
      work();
    }
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --busy_;
    is_done_.notify_all();
  }

  std::size_t most_, busy_ = 0;
  std::mutex mutex_;
  std::condition_variable is_done_;
};

}  // namespace

// Later versions of the library want to be told who is at either end.
template <class Self>
bool BoundedServer::answer(Self& self, httplib::Stream& stream) {
  // Ranges of a page that is made in memory would multiply it.
  const auto set_up = [](httplib::Request& request) { request.ranges.clear(); };
  bool is_closed = false;
  if constexpr (requires { self.process_request(stream, true, is_closed, set_up); })
    return self.process_request(stream, true, is_closed, set_up);
  else return self.process_request(stream, std::string(), 0, std::string(), 0, true, is_closed, set_up);
}

BoundedServer::BoundedServer(const Bounds& bounds) : bounds_(bounds) {
  set_payload_max_length(bounds.body);
  set_socket_options([](socket_t socket) {  // no other process may listen at the same port
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  new_task_queue = [bounds] { return new Crew(bounds.connections); };
}

int BoundedServer::bind(const std::string& address, int port) {
  if (port == 0) port = bind_to_any_port(address);
  else if (!bind_to_port(address, port)) return -1;
  constexpr int waiting = 512;  // connections; the library's own number lets others in only after seconds
  if (port > 0) ::listen(svr_sock_, waiting);
  return port;
}

bool BoundedServer::process_and_close_socket(socket_t socket) {
  bool ok = false;
  if (is_full) {
    constexpr std::string_view busy =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    ok = send(socket, busy.data(), busy.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  } else {
    BoundedStream stream(socket, bounds_);
    ok = answer(*this, stream);
  }
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return ok;
}

}  // namespace psim::cli
