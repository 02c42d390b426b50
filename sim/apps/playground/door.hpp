// The door of psim serve: its names and its token. Behind it is the playground or a class.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apps/playground/commands.hpp"
#include "sim/apps/playground/http.hpp"
#include "sim/runs/interrupt.hpp"

namespace psim::cli {

// So many bytes from /dev/urandom.
std::string random_bytes(std::size_t count);

class Door {
 public:
  // Lets requests to `site` only if they name this server, and come from none but its own pages.
  Door(const ServeCommand& asked, const Bounds& bounds, Site site);

  // Listens in another thread, and prints the address of the page with the token. Throws Refused.
  void open();
  // Returns the signal with which the user ends psim.
  static int ended_by(const InterruptsHeld& held);
  void close() { server_->stop(); }

  // http://NAME:PORT, with the first of the names that the user gave.
  const std::string& url() const { return url_; }
  // Whether this is the token. `token_in`: the one of a request, from its head or from its address.
  bool is_token(std::string_view given) const;
  static bool asks_with_token(const RequestHead& head);
  static std::string_view token_in(const RequestHead& head);

 private:
  std::optional<Reply> refusal_of(const RequestHead& head) const;

  const ServeCommand& asked_;
  std::string token_, url_;  // the token: 128 random bits, in practice impossible to guess
  std::vector<std::string> hosts_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace psim::cli
