// psim serve: the playground, a page whose sliders change a scenario that runs at once.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "analysis/input.hpp"
#include "analysis/page/page.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/playground/commands.hpp"
#include "sim/apps/playground/http.hpp"
#include "sim/apps/playground/play_run.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/request.hpp"

namespace psim::cli {
namespace {

// 128 random bits, in practice impossible to guess.
std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  std::ifstream random("/dev/urandom", std::ios::binary);
  if (!random.read(reinterpret_cast<char*>(bytes.data()), bytes.size()))
    throw std::runtime_error("cannot read /dev/urandom");
  std::string token;
  for (const unsigned byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// Compares in constant time, so that the time does not show where the texts differ.
bool is_same(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

Json controls() {
  Json all = Json::array();
  for (const SketchSetting& one : settings()) {
    all.push_back({{"name", one.name},
                   {"label", one.label},
                   {"doc", one.doc},
                   {"values", one.values},
                   {"usual", one.usual}});
    if (!one.only_with.empty()) all.back()["when"] = {{one.only_with, one.value}};
  }
  return all;
}

// The initial view of the page: a slow worker, with and without a barrier.
Json first_sight() {
  return {{{"slowdown", "4"}, {"consistency", "bsp"}}, {{"slowdown", "4"}, {"consistency", "asp"}}};
}

// Checks the settings from a page: known names, each with one of its values. Throws Refused.
Sketch sketch_of(const Json& given) {
  Sketch sketch;
  for (const auto& [name, value] : given.items()) {
    const auto setting =
        std::ranges::find_if(settings(), [&](const SketchSetting& s) { return s.name == name; });
    if (setting == settings().end()) throw Refused("unknown setting", "");
    if (!value.is_string() ||
        std::ranges::find(setting->values, value.get<std::string>()) == setting->values.end())
      throw Refused(fmt::format("{} does not have this value", setting->name), "");
    sketch[name] = value;
  }
  return sketch;
}

// A request: {"settings": {...}} or {"scenario": "..."}.
struct Wanted {
  std::string scenario;
  std::optional<Sketch> sketch = {};  // if the request has settings
};

// Throws Refused.
Wanted wanted_in(const std::string& body) {
  const Json asked = analysis::json_in(body);
  if (!asked.is_object() || asked.size() != 1)
    throw Refused("a request needs either settings or a scenario", "");
  if (asked.contains("scenario") && asked["scenario"].is_string()) return {asked["scenario"]};
  if (asked.contains("settings") && asked["settings"].is_object()) {
    Sketch sketch = sketch_of(asked["settings"]);
    return {scenario_text(sketch), std::move(sketch)};
  }
  throw Refused("a request needs either settings or a scenario", "");
}

class Playground {
 public:
  Playground(const ServeCommand& asked, const fs::path& scratch)
      : asked_(asked),
        player_(scratch,
                {.cpu_seconds = asked.seconds,
                 .address_space = static_cast<std::uint64_t>(asked.memory * 1e9),
                 .file_bytes = std::uint64_t{256} << 20U},
                thread_count(asked.jobs), 16),
        page_(reply_of(200, analysis::play_page({{"controls", controls()}, {"begin", first_sight()}}))) {
    page_.type = "text/html; charset=utf-8";
  }

  // Starts to listen in another thread. Returns the port.
  int start() {
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
    server_->start();
    return port;
  }

  ~Playground() { stop(); }
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  void stop() {
    player_.stop();
    server_->stop();
  }

  const std::string& token() const { return token_; }

 private:
  // Accepts only pages of this server, under one of its names and with the token.
  std::optional<Reply> at_head(const RequestHead& head) const {
    if (std::ranges::find(hosts_, head.host) == hosts_.end())
      return reply_of(403, "this server does not have this name\n");
    const bool is_foreign =
        !head.origin.empty() && head.origin != "http://" + head.host && head.origin != "https://" + head.host;
    if (is_foreign) return reply_of(403, "requests from other pages are not allowed\n");
    constexpr std::string_view address = "/?token=";
    const bool asks_page = head.method == "GET" && head.target.starts_with(address);
    if (!is_same(asks_page ? head.target.substr(address.size()) : head.token, token_))
      return reply_of(403, "open the address that psim serve printed\n");
    if (asks_page) return page_;
    if (head.method == "POST" && head.target == "/run") return std::nullopt;
    return reply_of(404, "there is nothing here\n");
  }

  Reply run(const RequestHead& head, const std::string& body) {
    Wanted wanted;
    try {
      wanted = wanted_in(body);
    } catch (const Refused& refusal) {
      return reply_of(400, std::string(refusal.what()) + "\n");
    }
    const auto lines = [this, wanted, address = head.address](const Reply::Tell& tell) {
      try {
        const Player::Errors errors = [&wanted] {
          return wanted.sketch ? errors_of(*wanted.sketch) : std::string();
        };
        if (tell(Json{{"scenario", wanted.scenario}}.dump()))
          player_.play(address, wanted.scenario, errors, tell);
      } catch (const std::exception&) {  // the client must not see the name of the folder
        tell(R"({"error":"this machine has no room for a run now: check the disk of TMPDIR\n"})");
      }
    };
    return {.type = "application/x-ndjson", .lines = lines};
  }

  const ServeCommand& asked_;
  std::string token_ = new_token();
  std::vector<std::string> hosts_;
  Player player_;
  Reply page_;
  std::unique_ptr<HttpServer> server_ = make_server(
      Bounds{}, Site{[this](const RequestHead& head) { return at_head(head); },
                     [this](const RequestHead& head, const std::string& body) { return run(head, body); }});
};

}  // namespace

int serve(const ServeCommand& asked) {
  const ScratchFolder scratch("psim-serve");
  const InterruptsHeld held;
  Playground playground(asked, scratch.path());
  const int port = playground.start();
  const std::string name =
      asked.address == "0.0.0.0" ? "localhost" : asked.address;  // a browser cannot open this address
  fmt::print("open http://{}:{}/?token={}\n", name, port, playground.token());
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write the address to stdout");
  say("Anyone with this address can run scenarios here. Ctrl-C stops the server.\n");
  int signal = 0;
  while (signal == 0) {
    held.wait();
    signal = held.pending();
  }
  playground.stop();
  throw Interrupted{signal, "the playground is closed"};
}

}  // namespace psim::cli
