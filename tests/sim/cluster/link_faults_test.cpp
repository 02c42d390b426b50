// Goal: cuts and message faults concern whom they name and nobody else. Method: small clusters, all pairs.
#include "sim/cluster/link_faults.hpp"

#include <cmath>
#include <utility>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// 0 scheduler, 1 and 2 servers, 3 to 5 workers.
Scenario scenario(std::vector<FaultSpec> faults) {
  Scenario s;
  s.cluster.servers = 2;
  s.cluster.workers = 3;
  s.faults = std::move(faults);
  return s;
}

constexpr NodeId nodes = 6;

Message message(NodeId from, NodeId to, Body body = Push{}) {
  return {.from = from, .to = to, .body = std::move(body)};
}

}  // namespace

TEST_CASE("a partition cuts what goes across it, both ways, and nothing else", "[faults]") {
  LinkFaults links(scenario({{.kind = "partition", .between = {{"worker 0", "server 1"}, {"rest"}}},
                             {.kind = "partition", .between = {{"worker 0"}, {"server 1"}}}}));
  const auto side = [](NodeId node) { return node == 3 || node == 2; };
  const auto cuts = [&](bool first, bool second) {
    for (NodeId a = 0; a < nodes; ++a) {
      for (NodeId b = 0; b < nodes; ++b) {
        const bool wanted = (first && side(a) != side(b)) || (second && a != b && side(a) && side(b));
        if (links.cut(a, b) != wanted) return false;
      }
    }
    return true;
  };
  CHECK(cuts(false, false));
  links.begin(0);
  CHECK(cuts(true, false));
  links.begin(1);
  CHECK(cuts(true, true));
  links.end(0);
  CHECK(cuts(false, true));
  links.end_all("partition");
  CHECK(cuts(false, false));
  links.end(1);  // the end that was planned: it is healed already
  CHECK(cuts(false, false));
  links.begin(1);
  CHECK(cuts(false, true));
}

TEST_CASE("a node whose link is down is cut off from all", "[faults]") {
  LinkFaults links(scenario({{.kind = "link-down", .nodes = {"servers"}}}));
  links.begin(0, 1);  // the turn of server 0 alone
  for (NodeId other = 0; other < nodes; ++other) {
    CHECK(links.cut(1, other));
    CHECK(links.cut(other, 1));
  }
  CHECK_FALSE(links.cut(2, 3));
  links.begin(0);  // and of both
  links.end(0, 1);
  CHECK(links.cut(1, 3));
  CHECK(links.cut(2, 3));
  CHECK_FALSE(links.cut(0, 3));
  links.end(0);
  CHECK_FALSE(links.cut(1, 3));
}

TEST_CASE("message faults touch the messages they name", "[faults]") {
  const Seconds late{0.5};
  LinkFaults links(scenario({{.kind = "drop", .nodes = {"worker 1"}, .messages = {"pull"}},
                             {.kind = "duplicate", .between = {{"servers"}, {"worker 2"}}},
                             {.kind = "delay", .messages = {"push", "weights"}, .delay = late},
                             {.kind = "delay", .nodes = {"server 0"}, .messages = {"push"}, .delay = late}}));
  CHECK_FALSE(links.fate(message(4, 1, Pull{})).dropped);  // not in force yet
  for (std::size_t table = 0; table < 4; ++table) links.begin(table);
  CHECK(links.fate(message(4, 1, Pull{})).dropped);
  CHECK_FALSE(links.fate(message(4, 1)).dropped);
  CHECK_FALSE(links.fate(message(3, 1, Pull{})).dropped);
  CHECK(links.fate(message(5, 2)).copies == 1);
  CHECK(links.fate(message(2, 5)).copies == 1);
  CHECK(links.fate(message(5, 0)).copies == 0);
  CHECK(links.fate(message(4, 2)).delay == 0.5);
  CHECK(links.fate(message(4, 1)).delay == 1.0);
  CHECK(links.fate(message(4, 1, Join{})).delay == 0);
  CHECK_FALSE(links.cut(4, 1));
}

TEST_CASE("a fault knows whether it has met a message", "[faults]") {
  LinkFaults links(scenario({{.kind = "partition", .between = {{"worker 0"}, {"server 0"}}},
                             {.kind = "drop", .nodes = {"worker 1"}, .messages = {"pull"}},
                             {.kind = "drop", .messages = {"pull"}, .probability = 0}}));
  links.cut(3, 1);
  CHECK_FALSE(links.has_met_any(0));  // not in force yet
  for (std::size_t table = 0; table < 3; ++table) links.begin(table);
  links.cut(3, 2);
  links.fate(message(4, 1));
  CHECK_FALSE(links.has_met_any(0));
  CHECK_FALSE(links.has_met_any(1));
  links.cut(1, 3);
  links.fate(message(4, 1, Pull{}));
  CHECK(links.has_met_any(0));
  CHECK(links.has_met_any(1));
  CHECK_FALSE(links.has_met_any(2));
}

TEST_CASE("probabilities hold, and one connection's draws do not touch another's", "[faults]") {
  const std::vector<FaultSpec> faults{{.kind = "drop", .probability = 0.3},
                                      {.kind = "reorder", .probability = 0.5, .delay = Seconds{2}}};
  LinkFaults busy(scenario(faults)), calm(scenario(faults));
  for (LinkFaults* links : {&busy, &calm}) {
    links->begin(0);
    links->begin(1);
  }
  constexpr int n = 20'000;
  int dropped = 0, late = 0;
  double delay = 0;
  for (int i = 0; i < n; ++i) {
    const MessageFate fate = busy.fate(message(3, 1));
    busy.fate(message(4, 1));
    const MessageFate same = calm.fate(message(3, 1));
    REQUIRE(fate.dropped == same.dropped);
    REQUIRE(fate.delay == same.delay);
    REQUIRE(fate.delay < 2);
    dropped += fate.dropped ? 1 : 0;
    late += fate.delay > 0 ? 1 : 0;
    delay += fate.delay;
  }
  // Four standard errors: of a proportion sqrt(p (1 - p) / n), of a uniform mean 2 / sqrt(12 n).
  CHECK(static_cast<double>(dropped) / n == Approx(0.3).epsilon(0).margin(4 * std::sqrt(0.21 / n)));
  CHECK(static_cast<double>(late) / n == Approx(0.5).epsilon(0).margin(4 * std::sqrt(0.25 / n)));
  CHECK(delay / late == Approx(1).epsilon(0).margin(4 * 2 / std::sqrt(12.0 * late)));
}
