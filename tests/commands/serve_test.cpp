// The playground's server: what it answers, and what it does about those who mean no good.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"
#include "tests/support/served.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

// The lines of an answer, put together.
Json told(const Answer& answer) {
  Json all = Json::object();
  std::istringstream lines(answer.body);
  for (std::string line; std::getline(lines, line);) all.update(Json::parse(line));
  return all;
}

Json run(const Served& served, const Json& request) {
  const Answer answer = asked(served, "POST", "/run", request.dump());
  INFO(answer.head);
  REQUIRE(answer.status == 200);
  return told(answer);
}

std::string error_of(const Served& served, const std::string& scenario) {
  const Json answer = run(served, {{"scenario", scenario}});
  INFO(answer.dump().substr(0, 500));
  CHECK_FALSE(answer.contains("result"));
  REQUIRE(answer.contains("error"));
  return answer["error"];
}

const char* const small = "[training]\nsteps = 3\n[cluster]\nworkers = 2\n";
const char* const endless =
    "[model]\nkind = \"phantom\"\nparameters = 1000\n[training]\nsteps = 100000000\n[cluster]\nworkers = 2\n";

bool still_answers(const Served& served) { return run(served, {{"scenario", small}}).contains("result"); }

std::size_t folders_in(const fs::path& scratch) {
  std::size_t count = 0;
  for (const fs::directory_entry& one : fs::directory_iterator(scratch)) {
    for (const fs::directory_entry& run : fs::directory_iterator(one)) count += run.is_directory() ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("the playground runs settings and texts, with the digests of psim run", "[serve][slow]") {
  const Served served;
  const Answer page = asked(served, "GET", "/?token=" + served.token());
  CHECK(page.status == 200);
  CHECK(page.body.find("<title>Playground") != std::string::npos);
  CHECK(page.body.find("connect-src 'self'") != std::string::npos);
  CHECK(page.body.find(served.token()) == std::string::npos);
  CHECK(page.head.find("frame-ancestors 'none'") != std::string::npos);

  const Json of_settings =
      run(served, {{"settings", {{"workers", "4"}, {"crash", "server"}, {"copies", "1"}}}});
  REQUIRE(of_settings.contains("result"));
  const std::string scenario = of_settings["scenario"];
  CHECK(scenario.find("workers = 4 ") != std::string::npos);
  const Json& result = of_settings["result"];
  CHECK(result["summary"]["digest"] == run_toml(scenario)["digest"]);
  CHECK(result["summary"]["failures"]["crashes"] == 1);
  CHECK(result["drawn"]["timeline"]["lanes"].size() >= 6);
  CHECK(result["curves"]["accuracy"]["x"].size() == result["summary"]["curve"].size());
  CHECK(run(served, {{"scenario", scenario}})["result"]["summary"]["digest"] == result["summary"]["digest"]);

  for (const Json& fact : result["facts"]) {
    if (fact["name"] == "length of the run") CHECK(fact["value"] == result["summary"]["sim_time_s"]);
    if (fact["name"] == "time to 90 % accuracy") {
      for (const Json& point : result["summary"]["curve"]) {
        if (point["accuracy"] < 0.9) continue;
        CHECK(fact["value"] == point["sim_time_s"]);
        break;
      }
    }
  }
}

TEST_CASE("the playground tells how far a run is", "[serve][slow]") {
  const Served served;
  const Answer answer =
      asked(served, "POST", "/run", Json{{"settings", {{"workers", "32"}, {"bandwidth", "5Mbps"}}}}.dump());
  std::istringstream lines(answer.body);
  double share = -1;
  for (std::string line; std::getline(lines, line);) {
    const Json told = Json::parse(line);
    if (!told.contains("progress")) continue;
    const double now = told["progress"].value("share", 0.0);  // it is there from the first step on
    CHECK(now >= share);
    share = now;
  }
  CHECK(share > 0);
  CHECK(share <= 1);
}

TEST_CASE("only the page with the token may ask the playground", "[serve]") {
  const Served served;
  const std::string port = std::to_string(served.port());
  const auto status = [&](const std::string& host, const std::string& rest, const std::string& path = "/") {
    return sent(served.port(), "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + rest + "\r\n").status;
  };
  const std::string page = "/?token=" + served.token();
  CHECK(status("127.0.0.1:" + port, "", page) == 200);
  CHECK(status("localhost:" + port, "", page) == 200);
  CHECK(status("localhost:" + port, "Origin: http://localhost:" + port + "\r\n", page) == 200);
  for (const std::string& host : std::vector<std::string>{"evil.example", "127.0.0.1", "localhost:1",
                                                          "127.0.0.1:" + port + ".evil.example", ""})
    CHECK(status(host, "", page) == 403);
  for (const std::string& origin :
       std::vector<std::string>{"http://evil.example", "null", "https://evil.example:443"})
    CHECK(status("localhost:" + port, "Origin: " + origin + "\r\n", page) == 403);
  for (const std::string& other :
       std::vector<std::string>{"/", "/?token=", "/?token=0", "/?token=" + served.token() + "0"})
    CHECK(status("localhost:" + port, "", other) == 403);
  const std::string body = R"({"settings":{}})";
  for (const std::string& token : std::vector<std::string>{"", "X-Psim-Token: 0\r\n"})
    CHECK(sent(served.port(), "POST /run HTTP/1.1\r\nHost: localhost:" + port + "\r\n" + token +
                                  "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
              .status == 403);
}

TEST_CASE("the playground hands out no file", "[serve]") {
  const Served served;
  const std::string token = "?token=" + served.token();
  for (const std::string& path :
       std::vector<std::string>{"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                                "/etc/passwd", "/run/../../../etc/passwd", "/..\\..\\etc\\passwd", "/run"}) {
    const Answer answer = asked(served, "GET", path + token);
    INFO(path << " " << answer.head);
    CHECK(answer.status >= 400);
    CHECK(answer.body.find("root:") == std::string::npos);
  }
  for (const std::string& data : std::vector<std::string>{
           "[data]\nsource = \"csv\"\npath = \"/etc/passwd\"\n[training]\nsteps = 1\n",
           "[data]\nsource = \"libsvm\"\npath = \"/etc/passwd\"\n[training]\nsteps = 1\n",
           "[data]\nsource = \"idx\"\npath = \"/etc\"\n[training]\nsteps = 1\n",
           "[training]\nsteps = 1\n[compute]\ndistribution = \"trace\"\ntrace = \"/etc/passwd\"\n",
           "[training]\nsteps = 1\n[[profile]]\nworkers = [0]\nof = \"speed\"\nfile = \"/etc/passwd\"\n",
           "[training]\nsteps = 1\n[cluster.network]\ntopology = \"simgrid-xml\"\nplatform = "
           "\"/etc/passwd\"\nhosts = [\"a\"]\n",
           "[[group]]\nworkers = 2\n[group.data]\nsource = \"csv\"\npath = "
           "\"/etc/passwd\"\n[training]\nsteps = "
           "1\n"}) {
    const std::string error = error_of(served, data);
    INFO(data << error);
    CHECK(error.find("/etc/passwd:") == std::string::npos);
    CHECK(error.find("root") == std::string::npos);
    CHECK(error.find(served.scratch().string()) == std::string::npos);
  }
}

TEST_CASE("the playground answers nonsense with an error", "[serve]") {
  const Served served;
  for (const std::string& body : std::vector<std::string>{
           "", "{", "[]", "null", "{}", R"({"settings":1})", R"({"settings":{},"scenario":""})",
           R"({"settings":{"workers":"1000000"}})", R"({"settings":{"workers":8}})",
           R"({"settings":{"nobody":"8"}})", R"({"settings":{"workers":"8\n[data]"}})", R"({"scenario":7})",
           R"({"scenario":{}})"}) {
    const Answer answer = asked(served, "POST", "/run", body);
    INFO(body << " " << answer.body);
    CHECK(answer.status == 400);
  }
  CHECK(error_of(served, "[cluster\nworkers = 2").find("scenario.toml:1") != std::string::npos);
  CHECK(error_of(served, "").find("empty") != std::string::npos);
  CHECK(asked(served, "POST", "/run", "{\"scenario\":\"\xff\xfe\"}").status == 400);
  CHECK_FALSE(error_of(served, std::string("a = 1\0\n", 7)).empty());
  CHECK_FALSE(error_of(served, std::string(5000, '[')).empty());
  for (const std::string& method :
       std::vector<std::string>{"PUT", "DELETE", "OPTIONS", "TRACE", "get", "\x01\x02"})
    CHECK(asked(served, method, "/run").status != 200);
  CHECK(sent(served.port(), "\x16\x03\x01 this is TLS\r\n\r\n").status != 200);
  CHECK(still_answers(served));
}

TEST_CASE("a giant request is refused before it is all there", "[serve][slow]") {
  const Served served;
  CHECK(asked(served, "POST", "/run", std::string(1 << 20, ' ')).status == 413);
  CHECK(sent(served.port(), fmt::format("POST /run HTTP/1.1\r\nHost: localhost:{}\r\nX-Psim-Token: {}\r\n"
                                        "Content-Length: 99999999999\r\n\r\n{{",
                                        served.port(), served.token()))
            .status != 200);
  CHECK(sent(served.port(), "GET /" + std::string(1 << 20, 'a') + " HTTP/1.1\r\n\r\n").status != 200);
  CHECK(asked(served, "GET", "/", "", "X-Long: " + std::string(1 << 16, 'a') + "\r\n").status != 200);
  CHECK(still_answers(served));
  CHECK(most_memory(served) < 100);
}

TEST_CASE("what a run in the playground takes is bounded", "[serve][slow]") {
  const Served served({"--seconds", "1", "--memory", "0.5", "--jobs", "2"});
  CHECK(error_of(served, endless).find("more than 1 s") != std::string::npos);
  if (!is_sanitized()) {  // which needs address space without bounds
    const std::string large =
        error_of(served, "[model]\nlayers = [64, 1000000, 10]\n[training]\nsteps = 3\n");
    CHECK(large.find("address space") != std::string::npos);
  }
  CHECK_FALSE(error_of(served, "[training]\nsteps = 3\n[cluster]\nworkers = 100000\n").empty());
  CHECK(still_answers(served));
  CHECK(folders_in(served.scratch()) == 0);
}

TEST_CASE("the playground goes on without room for runs, and repeats its page for nobody", "[serve]") {
  const Served served;
  for (const fs::directory_entry& one : fs::directory_iterator(served.scratch())) fs::remove_all(one);
  CHECK(error_of(served, small).find("no room") != std::string::npos);
  CHECK(error_of(served, small).find(served.scratch().string()) == std::string::npos);
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 900; ++i) ranges += ",0-";
  const Answer page = asked(served, "GET", "/?token=" + served.token(), "", ranges + "\r\n");
  CHECK(page.status == 200);
  CHECK(page.body.size() < 1'000'000);
  CHECK(most_memory(served) < 100);
}

TEST_CASE("a thousand connections keep nobody out, and one client has not all places for runs",
          "[serve][slow]") {
  const Served served({"--jobs", "1"});
  std::vector<int> held;
  for (int i = 0; i < 1000; ++i) {
    const int one = connected(served.port(), i % 2 == 0 ? "127.0.0.1" : "127.0.0.2");
    if (one < 0) break;
    const std::string part = "POST /run HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    send(one, part.data(), part.size(), MSG_NOSIGNAL);
    held.push_back(one);
  }
  CHECK(held.size() > 100);
  for (int i = 0; i < 12; ++i) CHECK(asked(served, "GET", "/?token=" + served.token()).status == 200);
  CHECK(still_answers(served));
  CHECK(most_memory(served) < 100);
  for (const int one : held) close(one);
  held.clear();

  constexpr const char* stranger = "127.0.0.2";
  const std::string body = Json{{"scenario", endless}}.dump();
  const std::string request = fmt::format(
      "POST /run HTTP/1.1\r\nHost: localhost:{}\r\nX-Psim-Token: {}\r\nContent-Length: {}\r\n\r\n{}",
      served.port(), served.token(), body.size(), body);
  for (int i = 0; i < 20; ++i) {
    held.push_back(connected(served.port(), stranger));
    send(held.back(), request.data(), request.size(), MSG_NOSIGNAL);
  }
  received(held.front(), 1);
  std::thread gone([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    close(held.front());  // and with it the run that is under way: the stranger's others still wait
  });
  CHECK(still_answers(served));
  gone.join();
  for (std::size_t i = 1; i < held.size(); ++i) close(held[i]);
}

TEST_CASE("a run ends when nobody waits for it any more", "[serve]") {
  const Served served({"--jobs", "1"});
  const std::string body = Json{{"scenario", endless}}.dump();
  const int gone = connected(served.port());
  const std::string request = fmt::format(
      "POST /run HTTP/1.1\r\nHost: localhost:{}\r\nX-Psim-Token: {}\r\nContent-Length: {}\r\n\r\n{}",
      served.port(), served.token(), body.size(), body);
  REQUIRE(send(gone, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
  received(gone, 0.5);
  CHECK(folders_in(served.scratch()) == 1);
  close(gone);
  for (int i = 0; i < 100 && folders_in(served.scratch()) > 0; ++i)
    std::this_thread::sleep_for(
        std::chrono::milliseconds(50));  // the run alone would take a quarter of a minute
  CHECK(folders_in(served.scratch()) == 0);
  CHECK(still_answers(served));
  CHECK(folders_in(served.scratch()) == 0);
}

TEST_CASE("Ctrl-C closes the playground, and nothing is left of it", "[serve]") {
  Served served;
  const std::string body = Json{{"scenario", endless}}.dump();
  const int waiting = connected(served.port());
  const std::string request = fmt::format(
      "POST /run HTTP/1.1\r\nHost: localhost:{}\r\nX-Psim-Token: {}\r\nContent-Length: {}\r\n\r\n{}",
      served.port(), served.token(), body.size(), body);
  send(waiting, request.data(), request.size(), MSG_NOSIGNAL);
  received(waiting, 0.5);
  CHECK(served.stop(SIGINT) == 130);
  close(waiting);
  CHECK(fs::is_empty(served.scratch()));
}

TEST_CASE("a port that is taken is refused", "[serve]") {
  const Served served;
  const Outcome second = psim::test::psim({"serve", "--port", std::to_string(served.port())});
  CHECK(second.code == 2);
  CHECK(second.err.find("cannot listen") != std::string::npos);
}

TEST_CASE("psim new leaves no scenario that does not run", "[new][slow]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"new", "mine.toml"};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = psim::test::psim(words, folder.path());
    INFO(options.back() << " " << outcome.err);
    CHECK(outcome.code == 2);
    CHECK_FALSE(fs::exists(folder.path() / "mine.toml"));
  };
  refused({"--bandwidth", "1Gbps\"\n[data]\npath=\"x"});
  for (const char* word : {"nan", "0.5", "1e999", "0x10", "four", ""}) refused({"--slowdown", word});
  for (const char* word : {"nan", "0", "-1", "inf"}) refused({"--rate", word});
  for (const char* word : {"0", "1e3", "99999999"}) refused({"--workers", word});
  refused({"--servers", "1", "--copies", "1"});
  refused({"--workers", "1", "--consistency", "all"});
  refused({"--workers", "1", "--consistency", "backup-workers"});
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {"--slowdown", "1e3"}, {"--slowdown", "2.50"}, {"--rate", ".5"}, {"--workers", "007"}}) {
    std::vector<std::string> words{"new", options[1]};
    words.insert(words.end(), options.begin(), options.end());
    INFO(options[1]);
    CHECK(psim::test::psim(words, folder.path()).code == 0);
    CHECK(psim::test::psim({"check", options[1] + ".toml"}, folder.path()).code == 0);
  }
  CHECK(content(folder.path() / "007.toml").find("workers = 7 ") != std::string::npos);
}

TEST_CASE("psim new writes a scenario of every method that has lines", "[new][slow]") {
  const TemporaryFolder folder;
  const std::string list = psim::test::psim({"new", "one.toml", "--method", "nothing"}, folder.path()).err;
  for (const char* method : {"diloco", "streaming-diloco", "fedavg", "ringmaster", "malenia", "ef21",
                             "mindflayer", "signsgd-vote"}) {
    INFO(method);
    CHECK(list.find(method) != std::string::npos);
    const std::string file = std::string(method) + ".toml";
    CHECK(psim::test::psim({"new", file, "--method", method, "--workers", "6"}, folder.path()).code == 0);
    CHECK(psim::test::psim({"run", file, "--set", "training.epochs=1"}, folder.path()).code == 0);
    CHECK(content(folder.path() / file).find("workers = 6") != std::string::npos);
  }
  const std::vector<std::string> both{"new", "two.toml", "--method", "diloco", "--slowdown", "2"};
  CHECK(psim::test::psim(both, folder.path()).err.find("--slowdown does not go with --method") !=
        std::string::npos);
}

TEST_CASE("every value of every setting makes a valid scenario", "[new][slow]") {
  const TemporaryFolder folder;
  const Served served;
  const std::string page = asked(served, "GET", "/?token=" + served.token()).body;
  const std::size_t begin = page.find("id=\"data\">") + 10;
  const Json data = Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  int made = 0;
  for (const Json& control : data["controls"]) {
    for (const Json& value : control["values"]) {
      const std::string file = fmt::format("{}.toml", made++);
      std::vector<std::string> words{"new", file, "--" + control["name"].get<std::string>(), value};
      if (control["name"] == "staleness") words.insert(words.end(), {"--consistency", "ssp"});
      const Outcome outcome = psim::test::psim(words, folder.path());
      INFO(control["name"] << " " << value << "\n" << outcome.err);
      CHECK(outcome.code == 0);
      const Outcome check = psim::test::psim({"check", file}, folder.path());
      INFO(check.err);
      CHECK(check.code == 0);
      CHECK(check.err.find("note[") == std::string::npos);
    }
  }
  CHECK(made > 40);
}
