#include "tests/support/solutions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace psim::test {

Reckoned reckoned(Student& s) {
  const double workers = s.number("workers"), fast = 11, slow = 8 * s.number("slowdown") + 3;
  return {
      .slower = slow / fast, .waits = 1 - fast / slow, .slow_share = 1 / (1 + (workers - 1) * slow / fast)};
}

double share_of_slow(Student& s, const Json& run) {
  std::smatch found;
  const std::string scenario = content(s.folder() / "cluster.toml");
  REQUIRE(std::regex_search(scenario, found, std::regex("\nworkers = \\[([0-9]+)\\]")));
  return run["workers"][std::stoul(found[1])]["clocks"].get<double>() / run["steps"].get<double>();
}

double step(const Json& run) { return run["workers"][0]["mean_step_s"]; }

namespace {

double seconds(const Json& run) { return run["sim_time_s"]; }
double target(const Json& run) { return run["target"]["sim_time_s"]; }
double loss(const Json& run) { return run["final"]["loss"]; }

// The numbers of neurons of the network that step.toml has.
std::vector<std::size_t> layers_of(const std::string& scenario) {
  std::smatch found;
  REQUIRE(
      std::regex_search(scenario, found, std::regex("layers = \\[([0-9]), ([0-9]), ([0-9]), ([0-9])\\]")));
  std::vector<std::size_t> layers;
  for (std::size_t i = 1; i <= 4; ++i) layers.push_back(std::stoul(found[i]));
  return layers;
}

// A date of a lab's scenario in seconds.
double seconds_in(const std::string& scenario, const std::string& key) {
  std::smatch found;
  REQUIRE(std::regex_search(scenario, found, std::regex("\n" + key + " = \"([0-9.]+)(us|ms|s)\"")));
  return std::stod(found[1]) * (found[2] == "us" ? 1e-6 : found[2] == "ms" ? 1e-3 : 1);
}

// The first number behind `before` in the lab's text.
std::string text_number(Student& s, const std::string& before) {
  std::smatch found;
  const std::string text = content(s.folder() / "README.md");
  REQUIRE(std::regex_search(text, found, std::regex(before + "([0-9.]+)")));
  return found[1];
}

// The slow workers of lab 2 with one backup worker: "1" or "1, 2".
std::string slow_ones(Student& s) {
  std::smatch found;
  const std::string text = content(s.folder() / "README.md");
  REQUIRE(std::regex_search(text, found, std::regex(R"(workers=\[([0-9, ]+)\]' --set 'consistency=backup)")));
  return found[1];
}

// Half the squared distance from [0, 1] of the outputs for the sample that step.toml has.
double loss_by_hand(const std::string& scenario) {
  std::smatch found;
  REQUIRE(std::regex_search(scenario, found,
                            std::regex("inputs = \\[\\[([01]), ([01]), ([01]), ([01]), ([01])\\]")));
  std::vector<double> values;
  for (std::size_t i = 1; i <= 5; ++i) values.push_back(std::stod(found[i]));
  double next = 0.1;  // the first weight of a layer; each is 0.1 more than the one before
  const std::vector<std::size_t> layers = layers_of(scenario);
  for (std::size_t layer = 1; layer < layers.size(); ++layer) {
    std::vector<double> sums(layers[layer]);
    double weight = next;
    for (double& sum : sums) {
      for (const double value : values) {
        sum += weight * value;
        weight += 0.1;
      }
    }
    values = sums;
    next += 0.1;
  }
  return (values[0] * values[0] + (values[1] - 1) * (values[1] - 1)) / 2;
}

void solve_1(Student& s) {
  const std::string scenario = content(s.folder() / "step.toml");
  const double workers = s.number("workers"), compute = seconds_in(scenario, "time"),
               latency = seconds_in(scenario, "latency"),
               bits = s.number("bandwidth") * (scenario.find("kbps") != std::string::npos ? 1e3 : 1e6);
  const std::vector<std::size_t> layers = layers_of(scenario);
  double weights = 0;
  for (std::size_t i = 1; i < layers.size(); ++i) weights += static_cast<double>(layers[i - 1] * layers[i]);
  const bool adds = scenario.find("aggregation = \"sum\"") != std::string::npos;
  const Json one = s.run({}), two = s.run({"training.steps=2"});
  const double pushed = one["bytes_by_kind"]["push"];
  s.answer("weights", weights);
  s.observe("weights", pushed / 4 / workers);
  s.answer("push_bytes", workers * weights * 4);
  s.observe("push_bytes", pushed);
  s.answer("step_ms", 1e3 * (compute + 2 * workers * weights * 4 * 8 / bits + 4 * latency));
  s.observe("step_ms", 1e3 * (seconds(two) - seconds(one)));
  s.answer("first_loss", loss_by_hand(scenario));
  s.answer("messages", 3 * workers);
  s.answer("one_gradient", adds ? "further" : "as far");
  s.answer("other_loss", loss(s.run({fmt::format("consistency.aggregation={}", adds ? "mean" : "sum")})));
}

std::string percent(double share) { return fmt::format("{:.4g} %", 100 * share); }

double pace(const Json& run) { return run["steps"].get<double>() / seconds(run); }

void solve_2(Student& s) {
  const std::string bound = "consistency=ssp " + text_number(s, "consistency=ssp ");
  const Json even = s.run({"straggler.0.slowdown=1.0"}), bsp = s.run({}), ssp = s.run({bound}),
             asp = s.run({"consistency=asp"}), backup = s.run({"consistency=backup-workers 1"});
  const std::string many = "straggler.0.workers=[0, 1, 2, 3, 4, 5]", some = "straggler.0.probability=0.1";
  const Reckoned guess = reckoned(s);
  s.answer("how_much_slower", guess.slower);
  s.observe("how_much_slower", step(bsp) / step(even));
  s.answer("how_long_fast_ones_wait", percent(guess.waits));
  s.observe("how_long_fast_ones_wait", bsp["workers"][0]["wait_share"]);
  s.answer("share_of_the_slow_one", percent(guess.slow_share));
  s.observe("share_of_the_slow_one", share_of_slow(s, asp));
  const std::string slow = slow_ones(s);
  const bool is_short = slow == "1";
  s.answer("one_backup", is_short ? "nearly as long as without slow workers" : "nearly as long as under bsp");
  s.observe("one_backup",
            step(s.run({"straggler.0.workers=[" + slow + "]", "consistency=backup-workers 1"})) / step(even));
  s.answer("bsp_seconds", bsp["updates"].get<double>() * step(bsp));  // not from its line `target`
  s.answer("ssp_lead", text_number(s, "consistency=ssp "));
  s.answer("asp_staleness", asp["staleness"]["mean"].get<double>());
  std::int64_t cancelled = 0;  // only the slow one is
  for (const Json& worker : backup["workers"])
    cancelled = std::max(cancelled, worker["cancelled"].get<std::int64_t>());
  s.answer("cancelled", static_cast<double>(cancelled));
  s.answer("when_a_bound_helps", pace(s.run({many, some, bound})) / pace(s.run({many, some})));
}

void solve_3(Student& s) {
  const std::string momentum = "training.optimizer=momentum",
                    much = "training.momentum=" + text_number(s, "training.momentum=");
  const Json asp = s.run({}), bsp = s.run({"consistency.model=bsp"}), pushed = s.run({momentum, much}),
             aware = s.run({momentum, much, "training.staleness_aware=true"}),
             slow = s.run({momentum, much, "training.learning_rate=0.05"}),
             limited = s.run({"consistency.max_staleness=5"});
  const double ratio = loss(pushed) / loss(asp), least = std::min({loss(pushed), loss(aware), loss(slow)});
  s.answer("mean_staleness", s.number("workers") - 1);
  s.observe("mean_staleness", asp["staleness"]["mean"]);
  s.answer("momentum_under_asp", ratio < 0.7   ? "much smaller"
                                 : ratio < 1.4 ? "about the same"
                                               : "much larger");
  s.observe("momentum_under_asp", ratio);
  s.answer("best_cure", least == loss(pushed)  ? "nothing else changed"
                        : least == loss(aware) ? "pushes that weigh 1 / staleness"
                                               : "a learning rate of 0.05");
  s.observe("best_cure", least);
  s.answer("asp_loss", loss(asp));
  s.answer("momentum_loss", loss(pushed));
  s.answer("speed_of_asp", pace(asp) / pace(bsp));
  s.answer("share_thrown_away",
           limited["pushes"]["dropped"].get<double>() / limited["pushes"]["arrived"].get<double>());
}

void solve_4(Student& s) {
  const std::string scenario = content(s.folder() / "cluster.toml"),
                    some = text_number(s, "4\n    psim run cluster.toml --set cluster.servers=");
  const double workers = s.number("workers"), bits = 32 * 2 * s.number("arrays"),
               each_way = workers * bits / (1e9 * s.number("bandwidth")),
               still = seconds_in(scenario, "time") + 4 * seconds_in(scenario, "latency");
  const Json one = s.run({}), longer = s.run({"training.steps=20"}), four = s.run({"cluster.servers=4"}),
             servers = s.run({"cluster.servers=" + some}), ring = s.run({"architecture.kind=all-reduce"}),
             half = s.run({"filter=[{kind=\"fp16\", on=\"both\"}]"});
  const double least = std::min({seconds(one), seconds(servers), seconds(ring)});
  s.answer("step_seconds", still + 2 * each_way);
  s.observe("step_seconds", (seconds(longer) - seconds(one)) / 10);
  s.answer("four_servers", (still + 2 * each_way) / (still + each_way / 2));
  s.observe("four_servers", seconds(one) / seconds(four));
  s.answer("ring_or_servers", least == seconds(one)       ? "one server"
                              : least == seconds(servers) ? some + " servers"
                                                          : "a ring");
  s.observe("ring_or_servers", least);
  s.answer("bytes_of_a_step", 2 * workers * bits / 8e6);
  s.answer("ring_bytes", 2 * (workers - 1) * bits / 8e6);
  s.answer("half_the_bytes", (still + 2 * each_way) / (still + each_way));
}

void solve_5(Student& s) {
  const std::string calm = "fault=[]", on = "recovery.enabled=true", copy = "replication.copies=1",
                    ring = "architecture.kind=all-reduce", whom = "fault.0.nodes=[\"worker 1\"]",
                    every = text_number(s, "snapshot.every=");
  const Json alone = s.run({calm, on}), watched = s.run({calm, on, copy}), nothing = s.run({}),
             replica = s.run({copy}), snapshots = s.run({"snapshot.every=" + every + " updates"}),
             restarts = s.run({ring, whom, "recovery.workers=restart"}),
             shrinks = s.run({ring, whom, "recovery.workers=remove"});
  const auto recovery = [](const Json& run, const char* part) {
    return run["failures"]["recoveries"][0][part].get<double>();
  };
  const double least = std::min({seconds(replica), seconds(restarts), seconds(shrinks)}),
               most = std::max({seconds(nothing), seconds(snapshots), seconds(replica)});
  s.answer("detection", (s.number("timeout") - 4) / 1e3);
  s.observe("detection", recovery(replica, "detection_s"));
  s.answer("who_loses_most", most == seconds(nothing)     ? "no copy at all"
                             : most == seconds(snapshots) ? fmt::format("a snapshot every {} updates", every)
                                                          : "a replica");
  s.observe("who_loses_most", most);
  s.answer("price_of_a_replica", percent(1 / (2 * s.number("workers"))));
  s.observe("price_of_a_replica",
            watched["bytes_sent"].get<double>() / alone["bytes_sent"].get<double>() - 1);
  s.answer("lost_by_nothing", seconds(nothing) - seconds(alone));
  s.answer("lost_by_snapshots", seconds(snapshots) - seconds(alone));
  s.answer("catch_up", recovery(snapshots, "catch_up_s"));
  s.answer("ring_or_servers", least == seconds(replica)    ? "servers with a replica"
                              : least == seconds(restarts) ? "the ring that restarts"
                                                           : "the ring that shrinks");
  s.answer("ring_lost_work", recovery(shrinks, "total_s"));
}

void solve_6(Student& s) {
  const Json baseline = s.run({});
  const double asp = target(s.run({"consistency=asp"})), servers = target(s.run({"cluster.servers=3"})),
               rate = target(s.run({"training.learning_rate=0.5"})), least = std::min({asp, servers, rate});
  s.answer("what_helps_most", least == asp       ? "asp"
                              : least == servers ? "three servers"
                                                 : "a learning rate of 0.5");
  s.observe("what_helps_most", least);
  s.answer("baseline_seconds", target(baseline));
  s.answer("baseline_cents", 100 * baseline["economy"]["to_target"]["dollars"].get<double>());
  write(s.folder() / "design.toml",
        "[consistency]\nmodel = \"asp\"\n[training]\nlearning_rate = 0.5\n[cluster]\nservers = 3\n");
}

}  // namespace

void solve(int lab, Student& student) {
  constexpr void (*solutions[])(Student&) = {solve_1, solve_2, solve_3, solve_4, solve_5, solve_6};
  solutions[lab - 1](student);
}

}  // namespace psim::test
