#include "tests/bench/growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/simulation.hpp"

namespace psim::bench {
namespace {

// Two layers with `parameters` weights, whose sizes are rounded. One worker computes gradients of one sample.
std::string one_worker(double parameters, int servers, int steps) {
  return fmt::format(R"([data]
source = "blobs"
samples = 100
features = 100
classes = 10
[model]
layers = [100, {:.0f}, 10]
bias = false
[training]
batch_size = 1
steps = {}
learning_rate = 1e-6
evaluate_every = "1000000000 updates"
[consistency]
model = "bsp"
[cluster]
workers = 1
servers = {}
)",
                     std::max(1.0, parameters / 110), steps, servers);
}

Usage run_once(const std::string& toml) {
  return in_child([&]() -> Json {
    const LoadedScenario loaded = scenario_of(toml);
    return timed([&] { static_cast<void>(simulate(loaded, {.threads = 1, .context = {}}, {})); }).cpu;
  });
}

// What all measurements of a page share.
class Measurement {
 public:
  explicit Measurement(const Settings& settings) : settings_(settings) {}

  Json messages(const char* network, int workers, int servers) const {
    const Cluster cluster{workers, servers, std::max(1, 1000 / workers)};
    Cost least;
    // Where flows overlap by the thousand, a run takes minutes, so it runs once.
    const int repeats = network == std::string("fluid") && servers > 1 ? 1 : settings_.repeats;
    const double seconds = quietly(repeats, [&] {
      least = cost_of_messages(network, cluster);
      return least.seconds;
    });
    say(fmt::format("{}: workers {}, servers {}: {:.2f} us a message", network, workers, servers,
                    1e6 * seconds));
    return {{"network", network},     {"workers", workers},         {"servers", servers},
            {"steps", cluster.steps}, {"messages", least.messages}, {"seconds", seconds},
            {"bytes", least.bytes}};
  }

  // The difference of a long and a short run, so that it has no part of the beginning and the end.
  Json update(double parameters, int servers) const {
    const int steps = std::clamp(static_cast<int>(3e7 / parameters), 3, 3000);
    double bytes = 0;
    const auto run = [&](int count) {
      return quietly(settings_.repeats, [&] {
        const Usage usage = run_once(one_worker(parameters, servers, count));
        bytes = usage.peak_bytes;
        return usage.result.get<double>();
      });
    };
    const double brief = run(steps), extended = run(3 * steps);
    const double seconds = std::max(1e-9, (extended - brief) / (2 * steps));
    say(fmt::format("parameters {:.0e}, servers {}: {:.1f} us an update", parameters, servers,
                    1e6 * seconds));
    return {{"parameters", parameters}, {"servers", servers}, {"seconds", seconds}, {"bytes", bytes}};
  }

  Json study(int runs, int jobs) const {
    const double seconds =
        quietly(1, [&] { return run_study(runs / 2, settings_.quick ? 2 : 60, jobs).wall; });
    say(fmt::format("{} runs, {} jobs: {:.2f} s", runs, jobs, seconds));
    return {{"runs", runs}, {"jobs", jobs}, {"seconds", seconds}};
  }

 private:
  // The least of the repeats.
  double quietly(int repeats, const std::function<double()>& work) const {
    return least(alternate(repeats, settings_.patience / 10, {work})[0]);
  }
  static void say(const std::string& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }

  Settings settings_;
};

}  // namespace

double Law::at(double x) const { return factor * std::pow(x, exponent); }

Law fit(const std::vector<std::pair<double, double>>& points) {
  const auto n = static_cast<double>(points.size());
  double x = 0, y = 0, xx = 0, xy = 0;  // sums over the logarithms
  for (const auto& [px, py] : points) {
    x += std::log(px), y += std::log(py);
    xx += std::log(px) * std::log(px), xy += std::log(px) * std::log(py);
  }
  Law law;
  law.exponent = (n * xy - x * y) / (n * xx - x * x);
  law.factor = std::exp((y - law.exponent * x) / n);
  for (const auto& [px, py] : points) law.worst = std::max({law.worst, py / law.at(px), law.at(px) / py});
  return law;
}

Json measure_growth(const Settings& settings) {
  const Measurement measure(settings);
  const bool quick = settings.quick;
  Json messages = Json::array(), updates = Json::array(), shards = Json::array(), studies = Json::array();
  for (const char* network : {"nic", "fluid"}) {
    const int most = quick ? 20 : network == std::string("nic") ? 10'000 : 1000;
    for (int workers = 10; workers <= most; workers *= quick ? 2 : 10)
      messages.push_back(measure.messages(network, workers, std::max(1, workers / 100)));
  }
  const Json many = quick ? messages[1] : messages[3],
             tall = measure.messages("nic", quick ? 40 : 10'000, quick ? 2 : 1);
  for (double parameters = 1e3; parameters <= (quick ? 1e4 : 1e8); parameters *= 10)
    updates.push_back(measure.update(parameters, 1));
  for (int servers = 1; servers <= (quick ? 2 : 64); servers *= 2)
    shards.push_back(measure.update(quick ? 1e3 : 1e6, servers));
  for (const int jobs : {1, 2}) {
    for (const int runs : quick ? std::vector{2, 4} : std::vector{10, 30, 100, 300, 1000})
      studies.push_back(measure.study(runs, jobs));
  }
  return {{"machine", machine_facts()}, {"messages", messages}, {"many", many},      {"tall", tall},
          {"updates", updates},         {"shards", shards},     {"studies", studies}};
}

}  // namespace psim::bench
