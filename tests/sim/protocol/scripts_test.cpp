// Goal: what several nodes say to each other in a situation, word for word. Method: scripts/*.txt have
// commands, and below each, after "----", what came of it up to the next empty line. With
// PSIM_UPDATE_SCRIPTS=1 in the environment the files are rewritten; read the difference before you commit it.
//
//   cluster workers=2 servers=3 copies=1 model=bsp
//                       the cluster; make_cluster() below has all that can be chosen
//   pull w0 w1          workers ask for weights with which they may start their next clock
//   push w0 gradient=2  a worker sends its gradient; without a number it is 1
//   deliver             every message, in the order of sending, until nothing is on its way
//   deliver w0->s0      the first message from one node to another
//   deliver w0->s0 push the first push from one node to another
//   drop, duplicate     likewise, for a message that is lost or comes twice
//   crash s0            the node is gone, with its state and all messages from and to it
//   start s0            the node is here, or here again, without any state
//   leave w0            the node says that it leaves
//   wait 3              seconds pass: nodes send again what is not confirmed, and crashed nodes are suspected
//   show s0             what a server has
//   flight              what is on its way
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

#include "tests/sim/protocol/script_cluster.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
using namespace psim::test;

namespace {

using Words = std::vector<std::string>;

std::string take_option(Words& words, const std::string& name, const std::string& usual) {
  const auto found =
      std::ranges::find_if(words, [&](const std::string& word) { return word.starts_with(name + "="); });
  if (found == words.end()) return usual;
  const std::string value = found->substr(name.size() + 1);
  words.erase(found);
  return value;
}

std::unique_ptr<ScriptCluster> make_cluster(Words words) {
  const auto take = [&](const char* name, const char* usual) { return take_option(words, name, usual); };
  const auto count = [&](const char* name, const char* usual) { return std::stoll(take(name, usual)); };
  ScriptCluster::Options options{.workers = static_cast<std::uint32_t>(count("workers", "2")),
                                 .servers = static_cast<std::uint32_t>(count("servers", "1")),
                                 .shards = static_cast<std::uint32_t>(count("shards", "1"))};
  options.consistency = {.model = ConsistencyModel(take("model", "bsp")),
                         .staleness = count("staleness", "3"),
                         .k = count("k", "1")};
  options.replication = {
      .copies = count("copies", "0"),
      .when = take("replicate", "updates") == "pushes" ? ReplicateWhen::every_push
                                                       : ReplicateWhen::after_aggregation,
      .layout = take("layout", "primary") == "chain" ? ReplicationLayout::chain : ReplicationLayout::primary};
  options.steps = count("steps", "100");
  options.compensation.strength = std::stod(take("delay_compensation", "0"));
  options.timeout = std::stod(take("retry", "1"));
  options.two_phase = take("hand_over", "two-phase") == "two-phase";
  if (const std::string absent = take("absent", ""); !absent.empty()) options.absent.push_back(absent);
  if (!words.empty()) throw std::runtime_error("a cluster has no " + words.front());
  return std::make_unique<ScriptCluster>(options);
}

ScriptCluster::Which which_of(const ScriptCluster& cluster, const Words& words) {
  const std::size_t arrow = words.at(0).find("->");
  if (arrow == std::string::npos) throw std::runtime_error("no message is called " + words[0]);
  return {.from = cluster.find(words[0].substr(0, arrow)),
          .to = cluster.find(words[0].substr(arrow + 2)),
          .kind = words.size() > 1 ? words[1] : ""};
}

void obey(ScriptCluster& cluster, const std::string& command, Words words) {
  const double gradient = std::stod(take_option(words, "gradient", "1"));
  const auto each = [&](void (ScriptCluster::*act)(NodeId)) {
    for (const std::string& name : words) (cluster.*act)(cluster.find(name));
  };
  if (command == "pull") return each(&ScriptCluster::pull);
  if (command == "crash") return each(&ScriptCluster::crash);
  if (command == "start") return each(&ScriptCluster::start);
  if (command == "leave") return each(&ScriptCluster::leave);
  if (command == "show") return each(&ScriptCluster::show);
  if (command == "flight") return cluster.show_flight();
  if (command == "wait") return cluster.wait(std::stod(words.at(0)));
  if (command == "deliver" && words.empty()) return cluster.deliver_all();
  if (command == "deliver") return cluster.deliver(which_of(cluster, words));
  if (command == "drop") return cluster.drop(which_of(cluster, words));
  if (command == "duplicate") return cluster.duplicate(which_of(cluster, words));
  if (command != "push") throw std::runtime_error("no command is called " + command);
  for (const std::string& name : words) cluster.push(cluster.find(name), gradient);
}

// The script with what comes of it.
std::string run_script(const std::string& script) {
  std::istringstream in(script);
  std::unique_ptr<ScriptCluster> cluster;
  std::string result, line;
  while (std::getline(in, line)) {
    result += line + "\n";
    if (line.empty() || line.starts_with("#")) continue;
    if (in.peek() == '-') {  // what came of it last time
      while (std::getline(in, line) && !line.empty()) continue;
    }
    std::istringstream command(result.substr(result.rfind('\n', result.size() - 2) + 1));
    std::string name;
    command >> name;
    const Words words{std::istream_iterator<std::string>(command), {}};
    if (name == "cluster") cluster = make_cluster(words);
    else if (cluster) obey(*cluster, name, words);
    else throw std::runtime_error("a script begins with a cluster");
    result += "----\n" + cluster->take_transcript() + "\n";
    in >> std::ws;
  }
  result.erase(result.find_last_not_of('\n') + 1);
  return result + "\n";
}

}  // namespace

TEST_CASE("in every situation of scripts/ the nodes say what stands there", "[protocol][scripts]") {
  const std::filesystem::path folder = source_folder() / "tests/sim/protocol/scripts";
  int scripts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    INFO(entry.path().filename().string());
    const std::string now = run_script(text);
    if (std::getenv("PSIM_UPDATE_SCRIPTS") != nullptr) std::ofstream(entry.path()) << now;
    else CHECK(now == text);
    ++scripts;
  }
  CHECK(scripts >= 13);
}
