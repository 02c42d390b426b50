// psim serve: the playground, a page whose sliders change a scenario that runs at once.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

#include "analysis/input.hpp"
#include "analysis/page/page.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/playground/commands.hpp"
#include "sim/apps/playground/http.hpp"
#include "sim/apps/playground/play_run.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/scratch.hpp"

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
        page_(analysis::play_page({{"controls", controls()}, {"begin", first_sight()}})) {
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return may_ask(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                        : httplib::Server::HandlerResponse::Handled;
    });
    server_.set_default_headers({{"Cache-Control", "no-store"},
                                 {"Referrer-Policy", "no-referrer"},
                                 {"X-Content-Type-Options", "nosniff"},
                                 {"Cross-Origin-Resource-Policy", "same-origin"},
                                 {"Content-Security-Policy", "frame-ancestors 'none'"}});
    server_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
          response.status = 500;
          response.set_content("psim could not answer\n", "text/plain");
        });
    server_.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(page_, "text/html; charset=utf-8");
    });
    server_.Post("/run", [this](const httplib::Request& request, httplib::Response& response) {
      run(request, response);
    });
  }

  // Starts to listen in another thread. Returns the port.
  int start() {
    const int port = server_.bind(asked_.address, asked_.port);
    if (port < 0)
      throw Refused(fmt::format("cannot listen on {}:{}", asked_.address, asked_.port),
                    "another program may use this port: without --port psim takes a free port");
    for (const std::string& name : {asked_.address, std::string("localhost"), std::string("127.0.0.1")})
      hosts_.push_back(fmt::format("{}:{}", name, port));
    for (const std::string& name : asked_.names) {
      hosts_.push_back(name);
      hosts_.push_back(fmt::format("{}:{}", name, port));
    }
    listening_ = std::jthread([this] { server_.listen_after_bind(); });
    return port;
  }

  ~Playground() { stop(); }
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  void stop() {
    player_.stop();
    server_.stop();
    listening_ = {};
  }

  const std::string& token() const { return token_; }

 private:
  // Accepts only pages of this server, under one of its names and with the token.
  bool may_ask(const httplib::Request& request, httplib::Response& response) const {
    const auto refuse = [&response](int status, const char* why) {
      response.status = status;
      response.set_content(why, "text/plain");
      return false;
    };
    const std::string host = request.get_header_value("Host");
    if (std::ranges::find(hosts_, host) == hosts_.end())
      return refuse(403, "this server does not have this name\n");
    const std::string origin = request.get_header_value("Origin");
    const bool is_foreign = !origin.empty() && origin != "http://" + host && origin != "https://" + host;
    if (is_foreign) return refuse(403, "requests from other pages are not allowed\n");
    const std::string token =
        request.method == "GET" ? request.get_param_value("token") : request.get_header_value("X-Psim-Token");
    if (!is_same(token, token_)) return refuse(403, "open the address that psim serve printed\n");
    return true;
  }

  void run(const httplib::Request& request, httplib::Response& response) {
    Wanted wanted;
    try {
      wanted = wanted_in(request.body);
    } catch (const Refused& refusal) {
      response.status = 400;
      response.set_content(std::string(refusal.what()) + "\n", "text/plain");
      return;
    }
    response.set_chunked_content_provider(
        "application/x-ndjson", [this, wanted](std::size_t, httplib::DataSink& sink) {
          const Player::Tell tell = [&sink](const std::string& line) {
            const std::string text = line + "\n";
            return sink.is_writable() && sink.write(text.data(), text.size());
          };
          try {
            const Player::Errors errors = [&wanted] {
              return wanted.sketch ? errors_of(*wanted.sketch) : std::string();
            };
            if (tell(Json{{"scenario", wanted.scenario}}.dump()))
              player_.play(BoundedServer::address_asking(), wanted.scenario, errors, tell);
          } catch (const std::exception&) {  // the client must not see the name of the folder
            tell(R"({"error":"this machine has no room for a run now: check the disk of TMPDIR\n"})");
          }
          sink.done();
          return true;
        });
  }

  const ServeCommand& asked_;
  std::string token_ = new_token();
  std::vector<std::string> hosts_;
  Player player_;
  std::string page_;
  BoundedServer server_{Bounds{}};
  std::jthread listening_;
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
