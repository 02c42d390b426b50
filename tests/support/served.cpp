#include "tests/support/served.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <stdexcept>

namespace psim::test {
namespace {

// The lengths of chunks taken out.
std::string dechunked(const std::string& text) {
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find("\r\n", at);
    if (end == std::string::npos) break;
    const std::size_t length = std::stoul(text.substr(at, end - at), nullptr, 16);
    if (length == 0) break;
    all += text.substr(end + 2, length);
    at = end + 2 + length + 2;
  }
  return all;
}

}  // namespace

Served::Served(const std::vector<std::string>& options) {
  std::array<int, 2> out{};
  if (pipe(out.data()) != 0) throw std::runtime_error("no pipe");
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it outlives no test that breaks off
    dup2(out[1], STDOUT_FILENO);
    close(out[0]);
    close(out[1]);
    setenv("TMPDIR", folder_.path().c_str(), 1);
    std::vector<std::string> words{binary().string(), "serve"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(out[1]);
  std::string line;
  for (char byte = 0; ::read(out[0], &byte, 1) == 1 && byte != '\n';) line += byte;
  close(out[0]);
  std::smatch found;
  if (!std::regex_search(line, found, std::regex(":([0-9]+)/\\?token=([0-9a-f]+)")))
    throw std::runtime_error("psim serve printed no address: " + line);
  port_ = std::stoi(found[1]);
  token_ = found[2];
}

Served::~Served() { stop(SIGINT); }

int Served::stop(int signal) {
  if (process_ == 0) return -1;
  kill(process_, signal);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

double most_memory(const Served& served) {
  if (is_sanitized()) return 0;
  std::ifstream status(fmt::format("/proc/{}/status", served.process()));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

int connected(int port, const char* from) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  inet_pton(AF_INET, from, &own.sin_addr);
  if (made >= 0 && bind(made, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
    return close(made), -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (made < 0 || connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return made;
  close(made);
  return -1;
}

std::string received(int socket, double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::string all;
  for (;;) {
    const auto left = std::chrono::duration<double>(until - std::chrono::steady_clock::now()).count();
    pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&one, 1, static_cast<int>(left * 1000) + 1) <= 0) return all;
    std::array<char, 65536> bytes;
    const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
    if (got <= 0) return all;
    all.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

Answer sent(int port, const std::string& bytes, const char* from) {
  const int socket = connected(port, from);
  if (socket < 0) return {};
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t more = send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (more <= 0) break;  // it does not want the rest
    at += static_cast<std::size_t>(more);
  }
  const std::string all = received(socket);
  close(socket);
  const std::size_t end = all.find("\r\n\r\n");
  if (!all.starts_with("HTTP/1.1 ") || end == std::string::npos) return {};
  Answer answer{
      .status = std::stoi(all.substr(9, 3)), .head = all.substr(0, end), .body = all.substr(end + 4)};
  if (answer.head.find("chunked") != std::string::npos) answer.body = dechunked(answer.body);
  return answer;
}

Answer asked(const Served& served, const std::string& method, const std::string& path,
             const std::string& body, const std::string& head) {
  return sent(
      served.port(),
      fmt::format(
          "{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Psim-Token: {}\r\nContent-Length: {}\r\n{}\r\n{}",
          method, path, served.port(), served.token(), body.size(), head, body));
}

}  // namespace psim::test
