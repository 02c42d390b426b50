// Goal: `psim check` names the waits that are shorter than a transfer. Method: size over bandwidth by hand.
#include "sim/cluster/slowest_messages.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Scenario slow(std::int64_t workers, std::int64_t servers) {
  Scenario s;
  s.cluster.workers = workers;
  s.cluster.servers = servers;
  s.cluster.network.bandwidth = BytesPerSecond{1.25e6};
  s.cluster.network.simgrid_model = SimgridModel::cm02;
  s.model.kind = ModelKind("phantom");
  s.model.parameters = 2'500'000;  // 10 MB
  s.recovery.enabled = true;
  return s;
}

}  // namespace

TEST_CASE("the longest transfer is the pushes of all workers at once, or a part of a sum", "[check]") {
  CHECK(longest_transfer(slow(4, 1)).seconds == Approx(4 * 8.0));
  CHECK(longest_transfer(slow(4, 2)).seconds == Approx(4 * 4.0));
  CHECK(longest_transfer(slow(2, 4)).seconds == Approx(8.0));  // a worker's own link
  Scenario ring = slow(4, 0);
  ring.architecture.kind = Architecture::all_reduce;
  CHECK(longest_transfer(ring).seconds == Approx(2.0));
}

TEST_CASE("each wait that is shorter than a transfer is named, with a value that would do", "[check]") {
  Scenario s = slow(4, 1);
  s.recovery.patience = Seconds{20};
  const std::vector<std::string> notes = short_waits(s);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].find(
            "recovery.retry, 1 s, is shorter than the 32 s of a transfer (10 MB of each of 4 workers at "
            "1.25 MB/s)") != std::string::npos);
  CHECK(notes[0].find("recovery.retry = \"32s\" would do") != std::string::npos);
  CHECK(notes[1].find("recovery.patience, 20 s") != std::string::npos);
  CHECK(notes[1].find("recovery.patience = \"33s\" would do") != std::string::npos);
  s.recovery.retry = Seconds{32};
  s.recovery.patience = Seconds{64};
  CHECK(short_waits(s).empty());
  s.recovery.timeout = s.recovery.heartbeat;
  CHECK(short_waits(s).size() == 1);
  s.recovery.enabled = false;
  CHECK(short_waits(s).empty());
}
