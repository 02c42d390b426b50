// What a storage's disk holds: the last snapshot of every shard. It outlives a crash of the storage, and what
// was on it decides from where a server that takes over begins.
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Server 1 is lost at 400 ms, without a replica; failures are noticed within 70 ms.
const ScenarioBuilder scenario =
    ScenarioBuilder({"model.layers=[64, 16, 10]", "training.steps=70", "training.batch_size=16",
                     "compute.time=10ms", "consistency.model=asp", "cluster.workers=4", "cluster.servers=3",
                     "recovery.heartbeat=20ms", "recovery.timeout=70ms", "recovery.retry=50ms",
                     "recovery.longest_retry=200ms", "snapshot.every=50ms"})
        .fault("crash", "server 1", {"at=400ms"});

std::string storage_crash(const std::string& disk) {
  return "[[fault]]\nkind = \"crash\"\nnodes = [\"storage\"]\nat = \"390ms\"\nrestart_after = \"300ms\"\n" +
         ("disk = \"" + disk + "\"\n");
}

struct Takeover {
  double transfer, catch_up;  // seconds until the shard has an owner with its state, and is where it was
};

Takeover takeover(const std::string& more) {
  const Json s = (scenario + more).run();
  REQUIRE(s["stuck"].empty());
  REQUIRE(s["failures"]["recoveries"].size() == 1);
  const Json& recovery = s["failures"]["recoveries"].at(0);
  return {recovery["transfer_s"], recovery["catch_up_s"]};
}

}  // namespace

// A snapshot is at most 50 ms old, so that what it lacks is soon done again; all of it takes 400 ms, less the
// pushes that workers have in hand.
TEST_CASE("what the storage has on its disk is there after its crash, unless the disk is lost",
          "[recovery]") {
  const Takeover there = takeover(""), kept = takeover(storage_crash("kept")),
                 lost = takeover(storage_crash("lost"));
  CHECK(there.transfer < 0.01);
  // The new owner asks at 453, 503, 603 and, as it backs off, 803 ms; the storage is back at 690 ms.
  for (const Takeover& waits : {kept, lost}) CHECK(waits.transfer == Approx(0.35).margin(0.01));
  CHECK(there.catch_up < 0.15);
  CHECK(kept.catch_up < 0.2);
  CHECK(lost.catch_up > 0.35);
}

TEST_CASE("a disk that loses its snapshots has new ones later", "[recovery]") {
  const auto loss = [](const std::string& at) {
    return "[[fault]]\nkind = \"disk-loss\"\nnodes = [\"storage\"]\nat = \"" + at + "\"\n";
  };
  const Takeover early = takeover(loss("200ms")), late = takeover(loss("395ms"));
  CHECK(early.catch_up < 0.15);
  CHECK(late.catch_up > 0.35);
  CHECK(late.transfer < 0.01);  // it hears that there is nothing, and begins anew
}
