#include "tests/sim/nodes/stage.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <simgrid/s4u/Actor.hpp>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "sim/scenario/spec/nodes.hpp"
#include "tests/support/run_psim.hpp"

namespace psim::test {
namespace {

LoadedScenario load(const std::string& toml) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "scenario.toml";
  std::ofstream(path) << toml;
  Diagnostics diagnostics;
  auto loaded = load_scenario({.path = path, .overrides = {}, .data_dirs = {}}, diagnostics);
  if (!loaded) throw std::runtime_error(diagnostics.render());
  return std::move(*loaded);
}

std::vector<double> mean_steps(const Scenario& scenario) {
  std::vector<double> steps(static_cast<std::size_t>(scenario.cluster.workers));
  for (std::size_t w = 0; w < steps.size(); ++w) steps[w] = mean_step_seconds(scenario, w);
  return steps;
}

}  // namespace

Planned::Planned(const std::string& toml) : loaded(load(toml)), plans(plan_jobs(loaded)) {}

Stage::Stage(Planned& planned, std::function<void(const std::string&)> listener)
    : planned_(planned),
      listener_(std::move(listener)),
      machines_(planned.loaded.scenario, planned.plans, {}, {this}),
      slowness_(plan().scenario.compute, plan().scenario.stragglers,
                static_cast<std::uint64_t>(plan().scenario.seed), mean_steps(plan().scenario)),
      state_(plan(), machines_.platform.hosts.size()),
      job_{plan(),
           machines_.agenda,
           machines_.cpus,
           machines_.network,
           machines_.recorder,
           machines_.pool,
           slowness_,
           state_,
           *this,
           *this,
           nullptr},
      actors_(machines_.platform, machines_.cpus, machines_.network, machines_.recorder) {
  // A first loss, because nodes repeat nothing as long as nothing has been lost.
  machines_.recorder.record({0, scheduler_node, Lost{}});
}

simgrid::s4u::ActorPtr Stage::act(NodeId node, std::function<void()> body, bool is_daemon) {
  return actors_.spawn(fmt::format("part {}", node), node, is_daemon, std::move(body));
}

void Stage::run() {
  machines_.engine.run([this] { say("stuck"); });
  actors_.rethrow();
}

std::string date(double seconds) { return fmt::format("{:.6g}", std::round(seconds * 1e5) / 1e5); }

void Stage::say(const std::string& words) { listener_(date(Agenda::now()) + " " + words); }

void Stage::on(const Event& event, std::uint64_t) {
  events.push_back(event);
  const Sent* sent = event.as<Sent>();
  if (sent == nullptr || !said_.contains(sent->kind)) return;
  const std::optional<std::int64_t> number = sent->number();
  say(fmt::format("{} {} > {}{}", name_of(sent->kind), sent->from, sent->to,
                  number ? fmt::format(" #{}", *number) : ""));
}

Lines on_stage(const std::string& toml, const std::function<void(Stage&)>& play) {
  Planned planned(toml);
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGTERM}) std::signal(signal, SIG_DFL);
    alarm(60);
    const auto write_line = [&](const std::string& line) {
      const std::string text = line + "\n";
      if (write(ends[1], text.data(), text.size()) < 0) _exit(2);
    };
    try {
      Stage stage(planned, write_line);
      play(stage);
    } catch (const std::exception& error) {
      write_line(std::string("exception: ") + error.what());
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (WIFSIGNALED(status)) lines.push_back(fmt::format("died: {}", WTERMSIG(status)));
  return lines;
}

}  // namespace psim::test
