// Times on networks of every shape. Raw model: cm02 without a window and shares without a spread, so a
// transfer takes the latency of its hops and bytes / bandwidth; a bsp step takes X + 2 of them.
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr double bandwidth = 125e6, latency = 50e-6, compute = 0.01, model_bytes = 1e6;

// A model of 1 MB, links of 1 Gb/s and 50 us unless `network` says otherwise.
ScenarioBuilder toml(int workers, int servers, const std::string& network, const std::string& more = "",
                     const std::string& time = "time = \"10ms\"") {
  return phantom(250'000)
      .set({"model.flops_per_sample=1e7", "training.batch_size=1", "training.steps=5",
            "cluster.network.simgrid_model=cm02"})
      .with("compute", time)
      .set("cluster.workers", workers)
      .set("cluster.servers", servers)
      .with("cluster.network", network)
      .with(more);
}

const std::string raw = "share_spread = 0.0\n", links = "bandwidth = \"1Gbps\"\nlatency = \"50us\"\n";

double step_time(const ScenarioBuilder& scenario, int worker = 0) {
  return scenario.run()["workers"][worker]["mean_step_s"].get<double>();
}

Approx near(double t) { return Approx(t).epsilon(0).margin(1e-8 + 1e-9 * t); }

// Runs a scenario that names a platform file, from a folder with that file.
Json run_with_platform(const ScenarioBuilder& scenario, const std::string& xml) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "platform.xml") << xml;
  return scenario.data_folder(folder.path()).run();
}

const std::string xml_file = "topology = \"simgrid-xml\"\nplatform = \"platform.xml\"\n";

// A star as SimGrid writes it: hosts node-0 to node-N, listed backwards. (SimGrid reads 50us as 50 * 1e-6,
// which is not 50 / 1e6.)
std::string star_xml(int nodes, const std::string& speed = "1Gf", const std::string& trunk = "1Gbps") {
  std::string hosts, routes;
  for (int i = nodes - 1; i >= 0; --i)
    hosts += fmt::format(
        "<host id='node-{0}' speed='{1}'/><link id='l{0}' bandwidth='{2}' latency='0.00005s' "
        "sharing_policy='SPLITDUPLEX'/>\n",
        i, speed, trunk);
  for (int i = 0; i < nodes; ++i) {
    for (int j = 0; j < nodes; ++j) {
      if (i == j) continue;
      routes += fmt::format(
          "<route src='node-{0}' dst='node-{1}' symmetrical='NO'><link_ctn id='l{0}' direction='UP'/>"
          "<link_ctn id='l{1}' direction='DOWN'/></route>\n",
          i, j);
    }
  }
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
         "<platform version='4.1'><zone id='z' routing='Full'>\n" +
         hosts + routes + "</zone></platform>\n";
}

std::string host_list(int nodes) {
  std::string text = "hosts = [";
  for (int i = 0; i < nodes; ++i) text += fmt::format("\"node-{}\", ", i);
  return text + "]\n";
}

}  // namespace

TEST_CASE("every shape: a step is X + 2 (hops x latency + M / B)", "[oracle]") {
  struct Shape {
    std::string network;
    int hops;  // between the first server and the first worker
  };
  // Torus: 19 points on, so server 0 is at (2, 1, 1) and worker 0 at (0, 3, 0). Dragonfly: groups 1 and 2,
  // a global link from server 0's router, then a local one.
  for (const Shape& shape : std::vector<Shape>{{"topology = \"star\"", 2},
                                               {"topology = \"two-tier\"\noversubscription = 1.0", 4},
                                               {"topology = \"fat-tree\"\nports = 4", 6},
                                               {"topology = \"torus\"\ndimensions = [4, 4, 2]", 5},
                                               {"topology = \"dragonfly\"\ngroups = 9", 4}}) {
    INFO(shape.network);
    CHECK(step_time(toml(1, 1, raw + links + shape.network)) ==
          near(compute + 2 * (shape.hops * latency + model_bytes / bandwidth)));
  }
}

TEST_CASE("a fat tree of full bisection is as fast as an ideal switch where two tiers are not", "[oracle]") {
  // 16 nodes fill a tree of four ports. No latency, so that all flows of a server have equal shares.
  const std::string network = raw + "bandwidth = \"1Gbps\"\nlatency = \"0s\"\n";
  for (const auto& [w, s] : std::vector<std::pair<int, int>>{{8, 7}, {12, 3}, {14, 1}, {10, 5}}) {
    INFO(w << " workers, " << s << " servers");
    const double largest_part = std::ceil(250'000.0 / s) * 4;
    const double ideal = compute + 2 * w * largest_part / bandwidth;
    CHECK(step_time(toml(w, s, network + "topology = \"star\"")) == near(ideal));
    CHECK(step_time(toml(w, s, network + "topology = \"fat-tree\"\nports = 4")) == near(ideal));
  }
  // Four racks; the uplink of one with two servers and two workers has the bandwidth of one node. Through it
  // come six workers' pushes to both servers: 12 M / 7, of 8 M / 7 that a server's own link carries.
  const double uplink = 12 * std::ceil(250'000.0 / 7) * 4 / bandwidth;
  CHECK(step_time(toml(8, 7, network + "topology = \"two-tier\"\nracks = 4\noversubscription = 4.0")) >=
        compute + 2 * uplink);
}

TEST_CASE("a graph: a thin link between switches is shared by those behind it", "[oracle]") {
  std::string graph = raw + links + "topology = \"graph\"\n";
  for (const char* ends :
       {R"("scheduler", "a")", R"("worker 0", "a")", R"("worker 1", "b")", R"("worker 2", "b")"})
    graph += fmt::format("[[cluster.network.link]]\nbetween = [{}]\n", ends);
  graph += "[[cluster.network.link]]\nbetween = [\"server 0\", \"a\"]\nbandwidth = \"10Gbps\"\n";
  graph += "[[cluster.network.link]]\nbetween = [\"b\", \"a\"]\nbandwidth = \"200Mbps\"\nlatency = \"3ms\"\n";
  // Pushes of workers 1 and 2 share 25 MB/s; worker 0's is through long before.
  CHECK(step_time(toml(3, 1, graph), 1) ==
        near(compute + 2 * (2 * latency + 0.003 + 2 * model_bytes / 25e6)));
  // Alone on the way: the trunk's whole bandwidth.
  std::string alone = graph;
  alone.replace(alone.find("\"worker 2\", \"b\""), 15, "\"other\", \"b\"   ");
  CHECK(step_time(toml(2, 1, alone), 1) == near(compute + 2 * (2 * latency + 0.003 + model_bytes / 25e6)));
}

TEST_CASE("a graph: messages take the fewest hops, then the least latency", "[oracle]") {
  const std::string graph = raw + links + R"(topology = "graph"
link = [
  {between = ["scheduler", "server 0"]},
  {between = ["server 0", "slow"], latency = "9ms"}, {between = ["slow", "worker 0"]},
  {between = ["server 0", "quick"], latency = "2ms"}, {between = ["quick", "worker 0"], latency = "4ms"},
  {between = ["server 0", "one"], latency = "0s"}, {between = ["one", "two"], latency = "0s"},
  {between = ["two", "worker 0"], latency = "0s"},
])";
  CHECK(step_time(toml(1, 1, graph)) == near(compute + 2 * (0.006 + model_bytes / bandwidth)));
}

TEST_CASE("a star from a platform file is the star, bit for bit", "[oracle]") {
  for (const std::string spread : {"0.0", "0.5"}) {
    INFO("share_spread " << spread);
    // The rounding of unequal weights depends on the unit of latencies, which a file does not have.
    const std::string shares = "share_spread = " + spread + "\nshare_cv = 0.0\n";
    const std::string slow = "[[straggler]]\nworkers = [1]\nslowdown = 3.0\nuntil = \"50ms\"\n";
    const Json star = toml(4, 2, shares + links, slow).run();
    const Json file = run_with_platform(toml(4, 2, shares + xml_file + host_list(7), slow), star_xml(7));
    CHECK(file["digest"] == star["digest"]);
    CHECK(file["scenario_hash"] != star["scenario_hash"]);
  }
}

TEST_CASE("the content of a platform file is part of a run's identity", "[oracle]") {
  const ScenarioBuilder scenario = toml(1, 1, raw + xml_file);
  const Json one = run_with_platform(scenario, star_xml(3)),
             two = run_with_platform(scenario, star_xml(3) + "\n");
  CHECK(one["digest"] == two["digest"]);
  CHECK(one["scenario_hash"] != two["scenario_hash"]);
  CHECK(run_with_platform(scenario, star_xml(3, "1Gf", "2Gbps"))["workers"][0]["mean_step_s"].get<double>() ==
        near(compute + 2 * (2 * latency + model_bytes / (2 * bandwidth))));
}

TEST_CASE("a platform file's speeds are used when they are asked for, in file order", "[oracle]") {
  // Listed backwards: node-3 is the scheduler, node-2 the server, node-1 and node-0 the workers. 1e7 flops.
  std::string xml = star_xml(4, "5Gf");
  const auto set_speed = [&](const std::string& host, const std::string& speed) {
    xml.replace(xml.find(host + "' speed='5Gf'"), host.size() + 13, host + "' speed='" + speed + "'");
  };
  set_speed("node-1", "1Gf");
  set_speed("node-0", "250Mf");
  const std::string network = raw + xml_file;
  const double transfers = 2 * (2 * latency + 2 * model_bytes / bandwidth);
  const auto compute_of = [&](const Json& run, int worker) {
    const Json& w = run["workers"][worker];
    return w["mean_step_s"].get<double>() * w["compute_share"].get<double>();
  };
  const Json own = run_with_platform(toml(2, 1, network, "", ""), xml);
  CHECK(own["workers"][1]["mean_step_s"].get<double>() == near(0.001 + transfers));  // 10 Gf by default
  const Json files = run_with_platform(toml(2, 1, network + "platform_speeds = true\n", "", ""), xml);
  CHECK(compute_of(files, 0) / compute_of(files, 1) == Approx(0.25).epsilon(1e-3));
  const std::string slow = "[[straggler]]\nworkers = [1]\nslowdown = 2.0\n";
  const Json slowed = run_with_platform(toml(2, 1, network + "platform_speeds = true\n", slow, ""), xml);
  CHECK(compute_of(slowed, 0) / compute_of(slowed, 1) == Approx(0.125).epsilon(1e-3));
}

TEST_CASE("a link that nobody shares bounds a message as SimGrid does, in both models", "[oracle]") {
  struct Model {
    std::string name;
    double latency, share;  // factors
  };
  std::string xml = star_xml(3);
  for (std::size_t at = 0; (at = xml.find("</route>", at)) != std::string::npos; at += 30)
    xml.insert(at, "<link_ctn id='fat'/>");
  xml.insert(xml.find("<host"),
             "<link id='fat' bandwidth='500Mbps' latency='0s' sharing_policy='FATPIPE'/>\n");
  for (const Model& of : std::vector<Model>{{"cm02", 1, 1}, {"lv08", 13.01, 0.97}}) {
    for (const char* model : {"fluid", "nic"}) {
      INFO(of.name << ", " << model);
      const ScenarioBuilder scenario = toml(1, 1, raw + xml_file + host_list(3))
                                           .set({std::string("cluster.network.model=") + model,
                                                 "cluster.network.simgrid_model=" + of.name});
      const Json run = run_with_platform(scenario, xml);
      CHECK(run["workers"][0]["mean_step_s"].get<double>() ==
            near(compute + 2 * (of.latency * 100e-6 + model_bytes / (of.share * bandwidth / 2))));
    }
  }
}

TEST_CASE("a node computes on all cores of its host", "[oracle]") {
  std::string four = star_xml(3);
  for (std::size_t at = 0; (at = four.find("speed='1Gf'", at)) != std::string::npos; at += 20)
    four.insert(at, "core='4' ");
  const ScenarioBuilder scenario =
      toml(1, 1, raw + xml_file + host_list(3) + "platform_speeds = true\n", "", "");
  const auto step = [&](const std::string& xml) {
    return run_with_platform(scenario, xml)["workers"][0]["mean_step_s"].get<double>();
  };
  CHECK(step(four) == step(star_xml(3, "4Gf")));
  CHECK(step(four) < step(star_xml(3)));
}

TEST_CASE("each seed draws the bandwidth of all links, as well as it is known", "[oracle]") {
  // Of a lone worker: 4 MB go and come back at 100 MB/s.
  const auto drawn = [](int seed, double sd, const std::string& model) {
    const double step = phantom(1'000'000)
                            .set({"training.steps=1", "cluster.workers=1", "cluster.servers=1",
                                  "cluster.network.bandwidth=100MBps", "cluster.network.simgrid_model=cm02",
                                  "cluster.network.latency=0s", "compute.time=0s"})
                            .set("cluster.network.model", model)
                            .set("cluster.network.bandwidth_sd", sd)
                            .set("seed", seed)
                            .run()["sim_time_s"]
                            .get<double>();
    return std::log(0.08 / step);
  };
  CHECK(std::abs(drawn(1, 0, "fluid")) < 1e-9);
  constexpr int seeds = 60;
  double sum = 0, square = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const double one = drawn(seed, 0.2, "nic");
    sum += one / seeds;
    square += one * one / seeds;
  }
  // Standard errors: 0.026 of the mean and 0.018 of the deviation.
  CHECK(std::abs(sum) < 0.08);
  CHECK(std::sqrt(square - sum * sum) == Approx(0.2).epsilon(0).margin(0.055));
  CHECK(drawn(3, 0.2, "fluid") == Approx(drawn(3, 0.2, "nic")));
  CHECK(drawn(3, 0.1, "nic") == Approx(drawn(3, 0.2, "nic") / 2));
}
