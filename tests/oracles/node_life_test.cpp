// What nodes are like over time, against calculations of their own: steps of 100 ms, a network that takes no
// time, so every date follows from the scenario.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Setup {
  std::string training = "steps = 10", consistency = "bsp", cluster = "workers = 4\nservers = 2";
  std::string worker = "", server = "", network = "", more = "";
  std::string model = "kind = \"phantom\"\nparameters = 1000";
};

ScenarioBuilder toml(const Setup& s) {
  return ScenarioBuilder({"training.batch_size=4", "compute.time=100ms"})
      .links("1000Tbps", "0s")
      .with("model", s.model)
      .with("training", s.training)
      .set("consistency.model", s.consistency)
      .with("cluster", s.cluster)
      .with("cluster.worker", s.worker)
      .with("cluster.server", s.server)
      .with("cluster.network", s.network)
      .with(s.more);
}

const std::string learns = "kind = \"mlp\"\nlayers = [64, 10]\nprecision = \"float64\"";

double seconds(const Json& run) { return run["sim_time_s"].get<double>(); }

}  // namespace

TEST_CASE("workers start when the last server is up", "[oracle][nodes]") {
  const Json run = toml({.worker = "startup = \"300ms\"", .server = "startup = \"2s\""}).run();
  CHECK(seconds(run) == Approx(2 + 10 * 0.1));
  CHECK(run["startup"]["servers_s"] == Json{2.0, 2.0});
  CHECK(run["workers"][0]["time"]["absent_share"].get<double>() == Approx(0.3 / 3.0));
  CHECK(run["workers"][0]["time"]["wait_share"].get<double>() == Approx(1.7 / 3.0));
}

TEST_CASE("start-up times are drawn for each node, from streams of their own", "[oracle][nodes]") {
  const std::string drawn = "startup = \"2s\"\nstartup_distribution = \"exponential\"";
  const Json run = toml({.worker = drawn, .server = drawn}).run();
  std::vector<double> all = run["startup"]["workers_s"].get<std::vector<double>>();
  for (const double one : run["startup"]["servers_s"].get<std::vector<double>>()) all.push_back(one);
  CHECK(seconds(run) == Approx(*std::ranges::max_element(all) + 1));
  std::ranges::sort(all);
  CHECK(std::ranges::adjacent_find(all) == all.end());
  // Another server leaves the others' times as they were.
  const Json more = toml({.cluster = "workers = 4\nservers = 3", .worker = drawn, .server = drawn}).run();
  CHECK(more["startup"]["workers_s"] == run["startup"]["workers_s"]);
  CHECK(more["startup"]["servers_s"][1] == run["startup"]["servers_s"][1]);
}

TEST_CASE("a warm-up before the servers hides their start, and changes no weight",
          "[oracle][nodes][rhythm][slow]") {
  for (const double startup : {0.0, 0.4, 2.0}) {
    for (const char* update : {"server", "worker"}) {
      INFO(startup << " s, update on the " << update);
      const auto run = [&](const std::string& when) {
        return toml({.training = fmt::format("steps = 6\nwarmup_steps = 8\nupdate = \"{}\"\n"
                                             "warmup = \"{}\"",
                                             update, when),
                     .server = fmt::format("startup = \"{}s\"", startup),
                     .model = learns})
            .run();
      };
      const Json after = run("after-pull"), before = run("before-servers");
      CHECK(seconds(after) == Approx(startup + 0.8 + 5 * 0.1));
      CHECK(seconds(before) == Approx(std::max(startup, 0.8) + 5 * 0.1));
      CHECK(after["model"]["weights"] == before["model"]["weights"]);
    }
  }
}

TEST_CASE("a warm-up is before the servers where nodes take time to start", "[oracle][nodes]") {
  const std::string steps = "steps = 6\nwarmup_steps = 8";
  CHECK(seconds(toml({.training = steps, .server = "startup = \"1s\""}).run()) == Approx(1.5));
  CHECK(seconds(toml({.training = steps}).run()) == Approx(1.3));
}

TEST_CASE("a worker that waits for its first samples hears that it may start", "[oracle][nodes][failures]") {
  const auto run = [](bool recovers) {
    return toml({.training = "steps = 6\nwarmup_steps = 8\nwarmup = \"before-servers\"",
                 .more = fmt::format("[data]\ndelivery = \"database\"\nbytes_per_sample = \"1MB\"\n"
                                     "[recovery]\nenabled = {}",
                                     recovers)})
        .run();
  };
  const Json plain = run(false), recovers = run(true);
  CHECK(recovers["stuck"].empty());
  CHECK(recovers["updates"] == plain["updates"]);
  CHECK(seconds(recovers) == Approx(seconds(plain)).epsilon(0.01));
}

TEST_CASE("where nodes may fail, a late worker joins later and a late server is waited for",
          "[oracle][nodes][failures]") {
  const std::string fails = "[recovery]\nenabled = true\ntimeout = \"1s\"\nheartbeat = \"100ms\"";
  const Json early = toml({.worker = "startup = \"500ms\"", .more = fails}).run();
  CHECK(seconds(early) == Approx(1.5).margin(0.02));
  CHECK(early["failures"]["suspicions"] == 0);
  // The scheduler waits for nobody longer than its detector does.
  const Json late =
      toml({.training = "steps = 10\nwarmup_steps = 3", .server = "startup = \"1500ms\"", .more = fails})
          .run();
  CHECK(late["failures"]["suspicions"] == 2);
  CHECK(late["stuck"].empty());
}

TEST_CASE("power is linear in the load, and money goes by the hour", "[oracle][nodes][energy]") {
  const Json run = toml({.cluster = "workers = 3\nservers = 1",
                         .worker = "startup = \"1s\"\nprice = 3.6\npower = {idle = \"100W\", full = "
                                   "\"300W\"}",
                         .server = "speed = \"1Mf\"\nflops_per_value = 10\nprice = 36.0\n"
                                   "power = {idle = \"50W\", full = \"80W\"}",
                         .network = "joules_per_byte = 0.001"})
                       .run();
  // A server's work for a clock: 3 pushes of 1000 values of 10 operations.
  const double work = 3 * 1000 * 10 / 1e6, end = 1 + 10 * (0.1 + work);
  CHECK(seconds(run) == Approx(end));
  const Json& e = run["economy"];
  CHECK(e["workers"]["on_s"].get<double>() == Approx(3 * end));
  CHECK(e["workers"]["busy_s"].get<double>() == Approx(3 * 10 * 0.1));
  CHECK(e["workers"]["joules"].get<double>() == Approx(3 * (100 * end + 200 * 10 * 0.1)));
  const Outcome plugin = process({(binary().parent_path() / "tests/psim_joules").string(), "100", "300", "1",
                                  "10", "0.1", fmt::format("{}", work)});
  INFO(plugin.err);
  REQUIRE(plugin.code == 0);
  CHECK(e["workers"]["joules"].get<double>() == Approx(3 * std::stod(plugin.out)));
  CHECK(e["workers"]["dollars"].get<double>() == Approx(3 * 0.001 * end));
  CHECK(e["servers"]["busy_s"].get<double>() == Approx(10 * work));
  CHECK(e["servers"]["joules"].get<double>() == Approx(50 * end + 30 * 10 * work));
  CHECK(e["servers"]["dollars"].get<double>() == Approx(0.01 * end));
  CHECK(e["network"]["joules"].get<double>() == Approx(0.001 * run["bytes_sent"].get<double>()));
  CHECK(e["joules"].get<double>() ==
        Approx(e["workers"]["joules"].get<double>() + e["servers"]["joules"].get<double>() +
               e["network"]["joules"].get<double>()));
}

TEST_CASE("energy to the target is that of the run until then", "[oracle][nodes][energy]") {
  const auto run = [](const char* stop) {
    return toml({.training = fmt::format("steps = 400\nlearning_rate = 0.1\nevaluate_every = \"100ms\"\n"
                                         "target = {{accuracy = 0.8, stop = {}}}",
                                         stop),
                 .worker = "power = {idle = \"10W\", full = \"20W\"}",
                 .model = learns})
        .run();
  };
  const Json stopped = run("true"), goes_on = run("false");
  const double until = stopped["target"]["sim_time_s"].get<double>();
  CHECK(goes_on["target"]["sim_time_s"] == until);
  CHECK(stopped["economy"]["to_target"]["joules"].get<double>() == Approx(4 * 20 * until).epsilon(1e-6));
  CHECK(goes_on["economy"]["to_target"]["joules"].get<double>() ==
        Approx(stopped["economy"]["to_target"]["joules"].get<double>()));
  CHECK(goes_on["economy"]["joules"].get<double>() == Approx(4 * 20 * 40.0));
}

TEST_CASE("a profile of speed changes computations at its dates, again and again", "[oracle][nodes]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "speed.csv") << "# seconds, factor\n0.25, 0.5\n0.45, 2\n";
  const std::string apart = "workers = 1\nservers = 1", together = apart + "\ncolocate = true";
  const auto run = [&](const std::string& more, const std::string& cluster) {
    return toml({.cluster = cluster, .more = "[[profile]]\nof = \"speed\"\nfile = \"speed.csv\"\n" + more})
        .data_folder(folder.path())
        .run();
  };
  // Ten steps are 1 s of work: 0.25 until 0.25 s, 0.1 until 0.45 s, and the rest at double speed.
  for (const std::string& cluster : {apart, together}) {
    INFO(cluster);
    CHECK(seconds(run("", cluster)) == Approx(0.45 + 0.65 / 2));
    // A period of 0.5 s does 0.25 + 0.1 + 0.1 at first; the next one begins at double speed: 0.5 + 0.1 (+
    // 0.1).
    CHECK(seconds(run("every = \"500ms\"", cluster)) == Approx(0.5 + 0.25 + (0.05 / 0.5)).margin(1e-9));
    CHECK(seconds(run("workers = [0]", cluster)) == Approx(0.45 + 0.65 / 2));
  }
  // A fault asks for the speed anew: from 0.6 s to 0.7 s it is 2 / 2. By 0.95 s 0.95 is done. A fault of the
  // server slows the worker only if they share a machine.
  const auto faulty = [&](const std::string& node, const std::string& cluster) {
    return seconds(run("every = \"500ms\"\n[[fault]]\nkind = \"slow\"\nnodes = [\"" + node +
                           "\"]\nfactor = 0.5\nfrom = \"600ms\"\nuntil = \"700ms\"\n",
                       cluster));
  };
  CHECK(faulty("worker 0", apart) == Approx(0.95 + 0.05 / 2).margin(1e-6));
  CHECK(faulty("worker 0", together) == Approx(0.95 + 0.05 / 2).margin(1e-6));
  CHECK(faulty("server 0", together) == Approx(0.95 + 0.05 / 2).margin(1e-6));
  CHECK(faulty("server 0", apart) == Approx(seconds(run("every = \"500ms\"", apart))));
}

TEST_CASE("a profile of availability is the crashes that one would write by hand",
          "[oracle][nodes][failures]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "up.csv") << "0 1\n0.35 0\n0.6 1\n1.2 0\n1.3 1\n";
  const Setup base{.training = "steps = 30", .model = learns};
  Setup traced = base, by_hand = base;
  traced.more = "[[profile]]\nof = \"availability\"\nfile = \"up.csv\"\nworkers = [1, 2]\n";
  for (const auto& [at, lasts] : {std::pair{"350ms", "250ms"}, {"1200ms", "100ms"}})
    by_hand.more += fmt::format(
        "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 1\", \"worker 2\"]\nat = \"{}\"\nrestart_after = "
        "\"{}\"\n",
        at, lasts);
  const Json a = toml(traced).data_folder(folder.path()).run(), b = toml(by_hand).run();
  CHECK(a["failures"]["crashes"] == 4);
  CHECK(seconds(a) == Approx(seconds(b)).epsilon(1e-12));
  CHECK(a["model"]["weights"] == b["model"]["weights"]);
}

TEST_CASE("a profile of availability may go on after the end of the run", "[oracle][nodes][failures]") {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& rows) {
    std::ofstream(folder.path() / "up.csv") << rows;
    Setup setup{.training = "duration = \"1s\"", .model = learns};
    setup.more = "[[profile]]\nof = \"availability\"\nfile = \"up.csv\"\nworkers = [1, 2]\n";
    return toml(setup).data_folder(folder.path()).run();
  };
  const Json cut = run("0 1\n0.35 0\n0.6 1\n0.9 0\n"),
             whole = run("0 1\n0.35 0\n0.6 1\n0.9 0\n1.1 1\n1.5 0\n2 1\n3 0\n");
  CHECK(whole["failures"]["crashes"] == 4);
  CHECK(whole["digest"] == cut["digest"]);
  CHECK(run("0 1\n1 0\n2 1\n")["workers"][1]["absent_share"] == 0);  // at the end itself
}

TEST_CASE("what was found of a worker's last life tells nothing about the next one",
          "[oracle][nodes][failures]") {
  const auto run = [](const std::string& straggler, const std::string& crash) {
    return toml({.training = "duration = \"6s\"",
                 .consistency = "asp",
                 .cluster = "workers = 3\nservers = 1",
                 .more = "[recovery]\nheartbeat = \"20ms\"\ntimeout = \"100ms\"\nretry = "
                         "\"50ms\"\n[recovery.slow]\nfactor = 2\nwindow = 10\n"
                         "[[straggler]]\nworkers = [1]\n" +
                         straggler + "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 1\"]\n" + crash})
        .run();
  };
  // Four slow steps of 0.8 s in one life, and as fast as the others in the next one.
  const Json once = run("slowdown = 8\nuntil = \"3s\"\n", "at = \"3300ms\"\nrestart_after = \"200ms\"\n");
  CHECK(once["slow_workers"].empty());
  // Slow in both lives: found in the first one, and again in the second.
  const Json twice = run("slowdown = 2.5\n", "at = \"2600ms\"\nrestart_after = \"50ms\"\n");
  REQUIRE(twice["slow_workers"].size() == 2);
  CHECK(twice["slow_workers"][0]["worker"] == 1);
  CHECK(twice["slow_workers"][1]["worker"] == 1);
  CHECK(twice["slow_workers"][1]["at_s"].get<double>() > 2.65 + 10 * 0.25 - 0.01);
}

TEST_CASE("a worker that is slow for long is found, removed or replaced", "[oracle][nodes][failures]") {
  const auto run = [](const std::string& slow, const std::string& cluster, double slowdown = 4) {
    return toml({.training = "steps = 40",
                 .cluster = cluster,
                 .more = fmt::format("[[straggler]]\nworkers = [1]\nslowdown = {}\nfrom = \"1s\"\n"
                                     "[recovery.slow]\nfactor = 2\nwindow = 5\n{}",
                                     slowdown, slow)})
        .run();
  };
  const std::string four = "workers = 4\nservers = 1", five = "workers = 5\nservers = 1\nspares = 1";
  const Json flagged = run("", four), removed = run("action = \"remove\"", four),
             replaced = run("action = \"replace\"", five);
  // 10 clocks of 0.1 s. Of the next ones of 0.4 s the mean of five is above 0.2 s with two: (3 + 2 * 4) / 5.
  for (const Json& one : {flagged, removed, replaced}) {
    REQUIRE(one["slow_workers"].size() == 1);
    const Json& found = one["slow_workers"][0];
    CHECK(found["worker"] == 1);
    CHECK(found["at_s"].get<double>() == Approx(1.8).margin(0.01));
    CHECK(found["seconds_per_sample"].get<double>() == Approx((3 * 0.1 + 2 * 0.4) / 5 / 4));
    CHECK(found["median"].get<double>() == Approx(0.1 / 4));
  }
  CHECK(seconds(flagged) == Approx(1 + 30 * 0.4).margin(0.01));
  // It leaves after the step in hand at most: 28 clocks are left, one or none of them slow.
  CHECK(seconds(removed) == Approx(1.8 + 0.4 + 27 * 0.1).margin(0.41));
  CHECK(removed["workers"][1]["clocks"].get<int>() <= 14);
  CHECK(seconds(replaced) == Approx(1.8 + 0.4 + 27 * 0.1).margin(0.41));
  CHECK(replaced["workers"][4]["clocks"].get<int>() >= 26);
  CHECK(replaced["stuck"].empty());
  CHECK(run("", four, 1.9)["slow_workers"].empty());
}

TEST_CASE("a slow worker stays where no spare is left", "[oracle][nodes][failures]") {
  const Json run = toml({.training = "steps = 40",
                         .cluster = "workers = 6\nservers = 1\nspares = 1",
                         .more = "[[straggler]]\nworkers = [1, 2]\nslowdown = 4\nfrom = \"1s\"\n"
                                 "[recovery.slow]\nfactor = 2\nwindow = 5\naction = \"replace\""})
                       .run();
  REQUIRE(run["slow_workers"].size() == 2);
  CHECK(run["slow_workers"][0]["action"] == "replace");
  CHECK(run["slow_workers"][1]["action"] == "flag");
  const int stays = run["slow_workers"][1]["worker"];
  CHECK(run["workers"][stays]["clocks"] == 40);
  // The spare one has its first clock to do when the others have done theirs.
  CHECK(seconds(run) == Approx(1 + 30 * 0.4 + 0.1).margin(0.01));
}
