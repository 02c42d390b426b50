// A web server for the user of one machine. Other machines may send it anything, so it limits connections,
// time and bytes. One thread reads all requests, so that a client who sends slowly takes no thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace psim::cli {

struct Bounds {
  std::size_t connections = 512;  // at the same time; for one more the server closes one of a stranger
  std::size_t talks = 48;         // answers at the same time that come line by line
  std::size_t head = 16 * 1024;   // bytes of the request line and of all header lines
  std::size_t body = 64 * 1024;   // bytes of the body, decoded or not
  double reading = 5;             // seconds until the complete request must have arrived
  double writing = 10;            // seconds until the client must have read the answer, or a line of it
};

// The head of a request.
struct RequestHead {
  std::string address;  // of the client; the same for all its connections
  std::string method, target, host, origin, token;
};

struct Reply {
  int status = 200;
  const char* type = "text/plain";
  std::shared_ptr<const std::string> text = {};
  // If set, it sends the answer instead of `text`, line by line, in its own thread. `tell` sends a line;
  // false: the client has left, or the server stops.
  using Tell = std::function<bool(const std::string& line)>;
  std::function<void(const Tell& tell)> lines = {};
  bool is_public = false;  // strangers get it, too: its client remains one
};
Reply reply_of(int status, std::string text);

// The answers of a server. A client is a stranger if `at_head` answers it with an error, or with what
// everybody gets.
struct Site {
  // The answer as soon as the head of a request has arrived. None: the body must arrive first.
  std::function<std::optional<Reply>(const RequestHead&)> at_head;
  std::function<Reply(const RequestHead&, const std::string& body)> at_end;
};

// Takes one request per connection.
class HttpServer {
 public:
  virtual ~HttpServer() = default;
  // Binds the server to a port of an IPv4 address (0: any free port) and returns the port. -1: this failed.
  virtual int bind(const std::string& address, int port) = 0;
  virtual void start() = 0;
  // Closes all connections. It waits for no client, only until each `lines` returns.
  virtual void stop() = 0;
};
std::unique_ptr<HttpServer> make_server(const Bounds& bounds, Site site);

}  // namespace psim::cli
