#include "sim/apps/playground/http.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <list>
#include <map>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"

namespace psim::cli {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;
using Error = boost::system::error_code;

// A connection until its answer is sent, or until a thread sends it line by line.
struct Connection {
  Connection(net::io_context& context, int socket_number, std::string from, const Bounds& bounds)
      : socket(context, tcp::v4(), socket_number), deadline(context), buffer(bounds.head + bounds.body) {
    head.address = std::move(from);
    parser.header_limit(static_cast<std::uint32_t>(bounds.head));
    parser.body_limit(bounds.body);
  }
  tcp::socket socket;
  net::steady_timer deadline;
  boost::beast::flat_buffer buffer;
  http::request_parser<http::string_body> parser;
  std::size_t taken = 0;  // bytes of the request
  RequestHead head;
  bool has_head = false, is_stranger = true;
  Reply reply;
  std::string begin;  // the first lines of the answer
  std::array<char, 4096> rest;
};
using Shared = std::shared_ptr<Connection>;

// A socket whose answer comes line by line.
struct Talk {
  OpenFile socket;
  std::jthread thread = {};
};

// Sends all of `bytes` within so many seconds. Returns false if the client has left or reads too slowly.
bool send_all(int socket, std::string_view bytes, double seconds) {
  const double by = host_seconds() + seconds;
  while (!bytes.empty()) {
    pollfd one{.fd = socket, .events = POLLOUT, .revents = 0};
    const double left = by - host_seconds();
    const int ready = left > 0 ? poll(&one, 1, static_cast<int>(std::ceil(1e3 * left))) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool is_connected(int socket) {
  char byte = 0;
  const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

std::string begin_of(const Reply& reply) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
      "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"
      "Content-Security-Policy: frame-ancestors 'none'\r\nConnection: close\r\n{}\r\n\r\n",
      reply.status,
      std::string(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status)))),
      reply.type,
      reply.lines ? "Transfer-Encoding: chunked" : fmt::format("Content-Length: {}", reply.text->size()));
}

// The answer to a request that the parser refuses.
Reply refusal_of(const Error& error, const Bounds& bounds) {
  if (error == http::error::body_limit)
    return reply_of(413, fmt::format("a request has at most {} kB\n", bounds.body / 1024));
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return reply_of(431, "the header lines are too long\n");
  return reply_of(400, "this is no request\n");
}

}  // namespace

Reply reply_of(int status, std::string text) {
  return {.status = status, .text = std::make_shared<const std::string>(std::move(text))};
}

namespace {

class ServerLoop final : public HttpServer {
 public:
  ServerLoop(const Bounds& bounds, Site site) : bounds_(bounds), site_(std::move(site)) {}
  ~ServerLoop() override { stop(); }

  int bind(const std::string& address, int port) override {
    try {
      acceptor_.open(tcp::v4());
      fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
      acceptor_.set_option(tcp::acceptor::reuse_address(true));
      acceptor_.bind({net::ip::make_address_v4(address), static_cast<std::uint16_t>(port)});
      constexpr int waiting = 512;  // connections; the kernel lets further clients wait for seconds
      acceptor_.listen(waiting);
      acceptor_.non_blocking(true);
      return acceptor_.local_endpoint().port();
    } catch (const std::exception&) {
      return -1;
    }
  }

  void start() override {
    accept();
    loop_ = std::jthread([this] {
      while (!context_.stopped()) {
        try {
          context_.run();
        } catch (const std::exception&) {  // no memory for one client; the others go on
          acceptor_.cancel();
          accept();
        }
      }
    });
  }

  void stop() override {
    context_.stop();
    loop_ = {};
    for (const Talk& talk : talks_) ::shutdown(talk.socket.number(), SHUT_RDWR);
    talks_.clear();
    connections_.clear();
  }

 private:
  // Accepts natively, because Asio's sockets would stay open in the processes that psim starts.
  void accept() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](const Error& stopped) {
      if (stopped) return;
      constexpr int at_once = 32;  // so that requests are read in between
      for (int i = 0; i < at_once; ++i) {
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        const int socket = accept4(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&peer), &size,
                                   SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket >= 0)
          take(socket, std::string(reinterpret_cast<const char*>(&peer.sin_addr), sizeof peer.sin_addr));
        else if (errno != EMFILE && errno != ENFILE) break;
        else if (!make_room()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      accept();
    });
  }

  void take(int socket, std::string address) {
    const auto made = std::make_shared<Connection>(context_, socket, std::move(address), bounds_);
    if (connections_.size() == bounds_.connections && !make_room()) return;
    connections_.push_back(made);
    end_after(bounds_.reading, made);
    read(made);
  }

  // Closes the oldest connection of that address whose strangers have most connections.
  bool make_room() {
    std::map<std::string, std::size_t> strangers;
    for (const Shared& one : connections_) strangers[one->head.address] += one->is_stranger ? 1 : 0;
    const auto most = std::ranges::max_element(strangers, {}, [](const auto& one) { return one.second; });
    if (most == strangers.end() || most->second == 0) return false;
    end(*std::ranges::find_if(connections_, [&](const Shared& one) {
      return one->is_stranger && one->head.address == most->first;
    }));
    return true;
  }

  void end_after(double seconds, const Shared& one) {
    one->deadline.expires_after(std::chrono::milliseconds(std::lround(1e3 * seconds)));
    one->deadline.async_wait([this, one](const Error& cancelled) {
      if (!cancelled) end(one);
    });
  }
  void forget(const Shared& one) {
    one->deadline.cancel();
    std::erase(connections_, one);
  }
  void end(Shared one) {
    Error none;
    one->socket.close(none);
    forget(one);
  }

  void read(const Shared& one) {
    http::async_read_some(one->socket, one->buffer, one->parser,
                          [this, one](const Error& error, std::size_t bytes) {
                            one->taken += bytes;
                            if (one->socket.is_open()) go_on(one, error);
                          });
  }

  // A part of the request has arrived.
  void go_on(const Shared& one, const Error& error) {
    try {
      if (error) return answer(one, refusal_of(error, bounds_));
      if (!one->has_head && one->parser.is_header_done()) {
        if (std::optional<Reply> early = at_head(*one)) return answer(one, std::move(*early));
      }
      if (one->parser.is_done()) return answer(one, site_.at_end(one->head, one->parser.get().body()));
      // Lengths of chunks and their extensions count, too.
      if (one->taken > bounds_.head + bounds_.body)
        return answer(one, refusal_of(http::error::body_limit, bounds_));
      read(one);
    } catch (const std::exception&) {
      answer(one, reply_of(500, "psim could not answer\n"));
    }
  }

  std::optional<Reply> at_head(Connection& one) const {
    const auto& request = one.parser.get();
    const auto text = [](boost::beast::string_view view) { return std::string(view.data(), view.size()); };
    one.has_head = true;
    one.head = {.address = one.head.address,
                .method = text(request.method_string()),
                .target = text(request.target()),
                .host = text(request[http::field::host]),
                .origin = text(request[http::field::origin]),
                .token = text(request["X-Psim-Token"])};
    std::optional<Reply> early = site_.at_head(one.head);
    one.is_stranger = early && (early->status >= 400 || early->is_public);
    const auto differs = [&](http::field field, const char* plain) {
      return request.count(field) > 0 && !boost::beast::iequals(request[field], plain);
    };
    if (!early && (differs(http::field::content_encoding, "identity") ||
                   differs(http::field::transfer_encoding, "chunked")))
      return reply_of(415, "send the request as it is, not compressed\n");
    return early;
  }

  void answer(const Shared& one, Reply reply) {
    if (reply.lines && talks_.size() >= bounds_.talks) reply = reply_of(503, "psim is busy\n");
    one->begin = begin_of(reply);
    one->reply = std::move(reply);
    if (one->reply.lines) return talk(one);
    if (!one->is_stranger) end_after(bounds_.writing, one);
    const std::array<net::const_buffer, 2> all{net::buffer(one->begin), net::buffer(*one->reply.text)};
    net::async_write(one->socket, all, [this, one](Error error, std::size_t) {
      if (!one->socket.is_open()) return;
      one->socket.shutdown(tcp::socket::shutdown_send, error);
      drain(one, 0);
    });
  }

  // A client who still sends would lose the answer if its connection closed.
  void drain(const Shared& one, std::size_t bytes) {
    constexpr std::size_t most = std::size_t{4} << 20U;
    one->socket.async_read_some(net::buffer(one->rest),
                                [this, one, bytes](const Error& error, std::size_t more) {
                                  if (!one->socket.is_open()) return;
                                  if (error || bytes + more > most) end(one);
                                  else drain(one, bytes + more);
                                });
  }

  void talk(const Shared& one) {
    forget(one);
    talks_.push_back({.socket = OpenFile(one->socket.release())});
    const auto talk = std::prev(talks_.end());
    const int socket = talk->socket.number();
    try {
      talk->thread = std::jthread([this, talk, socket, begin = one->begin, lines = one->reply.lines] {
        const double seconds = bounds_.writing;
        const Reply::Tell tell = [socket, seconds](const std::string& line) {
          return is_connected(socket) &&
                 send_all(socket, fmt::format("{:x}\r\n", line.size() + 1), seconds) &&
                 send_all(socket, line, seconds) && send_all(socket, "\n\r\n", seconds);
        };
        if (send_all(socket, begin, seconds)) lines(tell);
        send_all(socket, "0\r\n\r\n", seconds);
        ::shutdown(socket, SHUT_RDWR);
        net::post(context_, [this, talk] { talks_.erase(talk); });
      });
    } catch (const std::exception&) {  // the machine cannot start more threads
      talks_.erase(talk);
    }
  }

  Bounds bounds_;
  Site site_;
  net::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  std::vector<Shared> connections_;  // the oldest first
  std::list<Talk> talks_;
  std::jthread loop_;
};

}  // namespace

std::unique_ptr<HttpServer> make_server(const Bounds& bounds, Site site) {
  return std::make_unique<ServerLoop>(bounds, std::move(site));
}

}  // namespace psim::cli
