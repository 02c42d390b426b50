#include "sim/apps/playground/door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "sim/runs/answer.hpp"

namespace psim::cli {
namespace {

constexpr std::string_view token_address = "/?token=";

std::string new_token() {
  std::string token;
  for (const char byte : random_bytes(16)) token += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return token;
}

// Compares in constant time, so that the time does not show where the texts differ.
bool is_same(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::ifstream random("/dev/urandom", std::ios::binary);
  if (!random.read(bytes.data(), static_cast<std::streamsize>(count)))
    throw std::runtime_error("cannot read /dev/urandom");
  return bytes;
}

Door::Door(const ServeCommand& asked, const Bounds& bounds, Site site) : asked_(asked), token_(new_token()) {
  const auto at_head = [this, inside = std::move(site.at_head)](const RequestHead& head) {
    std::optional<Reply> refusal = refusal_of(head);
    return refusal ? std::move(refusal) : inside(head);
  };
  server_ = make_server(bounds, Site{at_head, std::move(site.at_end)});
}

void Door::open() {
  const int port = server_->bind(asked_.address, asked_.port);
  if (port < 0)
    throw Refused(fmt::format("cannot listen on {}:{}", asked_.address, asked_.port),
                  "another program may use this port: without --port psim takes a free port");
  for (const std::string& name : {asked_.address, std::string("localhost"), std::string("127.0.0.1")})
    hosts_.push_back(fmt::format("{}:{}", name, port));
  for (const std::string& name : asked_.names) {
    hosts_.push_back(name);
    hosts_.push_back(fmt::format("{}:{}", name, port));
  }
  // A browser cannot open 0.0.0.0.
  const std::string own = asked_.address == "0.0.0.0" ? "localhost" : asked_.address;
  url_ = fmt::format("http://{}:{}", asked_.names.empty() ? own : asked_.names.front(), port);
  server_->start();
  fmt::print("open http://{}:{}{}{}\n", own, port, token_address, token_);
}

int Door::ended_by(const InterruptsHeld& held) {
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write the address to stdout");
  int signal = 0;
  while (signal == 0) {
    held.wait();
    signal = held.pending();
  }
  return signal;
}

bool Door::is_token(std::string_view given) const { return is_same(given, token_); }

bool Door::asks_with_token(const RequestHead& head) {
  return head.method == "GET" && head.target.starts_with(token_address);
}

std::string_view Door::token_in(const RequestHead& head) {
  return asks_with_token(head) ? std::string_view(head.target).substr(token_address.size())
                               : std::string_view(head.token);
}

std::optional<Reply> Door::refusal_of(const RequestHead& head) const {
  if (std::ranges::find(hosts_, head.host) == hosts_.end())
    return reply_of(403, "this server does not have this name\n");
  const bool is_foreign =
      !head.origin.empty() && head.origin != "http://" + head.host && head.origin != "https://" + head.host;
  if (is_foreign) return reply_of(403, "requests from other pages are not allowed\n");
  return std::nullopt;
}

}  // namespace psim::cli
