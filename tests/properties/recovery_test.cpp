// What failures may cost is time: with copies of every shard, weights under bsp are those of a run in which
// nothing failed, to the last bit.
#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const ScenarioBuilder training = ScenarioBuilder(
    {"model.layers=[64, 16, 10]", "training.steps=60", "training.batch_size=16", "cluster.workers=4",
     "cluster.servers=3", "cluster.worker.speed=100Mf", "compute.distribution=lognormal", "compute.cv=0.2"});

const ScenarioBuilder sparse = ScenarioBuilder(
    {"data.source=clicks", "data.samples=2000", "data.features=3000", "data.nonzeros=10",
     "model.kind=logistic", "training.steps=40", "training.batch_size=20", "training.optimizer=momentum",
     "training.learning_rate=0.5", "cluster.workers=4", "cluster.servers=3", "cluster.worker.speed=1Mf"});

constexpr auto crash = "[[fault]]\nkind = \"crash\"\nnodes = [\"server 1\"]\nat = \"100ms\"\n";

Json run(const std::string& more, int code = 0, const ScenarioBuilder& what = training) {
  INFO(more);
  Json summary = what.with(more).run();
  REQUIRE(exit_code(summary) == code);
  return summary;
}

}  // namespace

TEST_CASE("replication, and a crash with it, change no bit of what is learned under bsp",
          "[recovery][slow]") {
  const Json expected = run("")["final"];
  CHECK(run("[recovery]\nenabled = true\n")["final"] == expected);
  for (const char* when : {"after-aggregation", "every-push"}) {
    for (const char* layout : {"primary", "chain"}) {
      const std::string copies =
          fmt::format("[replication]\ncopies = 2\nwhen = \"{}\"\nlayout = \"{}\"\n", when, layout);
      CHECK(run(copies)["final"] == expected);
      CHECK(run(copies + crash)["final"] == expected);
      CHECK(run(copies + crash + "restart_after = \"50ms\"\n")["final"] == expected);
    }
  }
  CHECK(run(std::string(crash))["final"] != expected);  // without a copy a third of the model begins anew
}

// A sparse update travels with its keys: momentum of a weight that nobody pushed stays as it is.
TEST_CASE("servers that keep gradients lose none with a crash", "[recovery]") {
  // verify compares what every copy's next update depends on, and that are the kept gradients, too.
  for (const char* when : {"after-aggregation", "every-push"}) {
    INFO(when);
    const KeptRun kept(
        training.set({"consistency.model=asp", "consistency.aggregation=last", "replication.copies=1"})
            .set("replication.when", when)
            .with(crash));
    CHECK(exit_code(kept.summary()) == 0);
    kept.check_promises();
  }
}

TEST_CASE("replication of a sparse model changes no bit either", "[recovery]") {
  const Json expected = run("", 0, sparse);
  for (const char* when : {"after-aggregation", "every-push"}) {
    const std::string copies = fmt::format("[replication]\ncopies = 1\nwhen = \"{}\"\n", when);
    const Json copied = run(copies, 0, sparse);
    CHECK(copied["final"] == expected["final"]);
    CHECK(copied["failures"]["replication_bytes"] < 40 * 3000 * 4 / 2);
    CHECK(run(copies + crash, 0, sparse)["final"] == expected["final"]);
  }
}

// The first shard decides whose pushes count. Its word may get lost, and a push that a crash undoes may have
// been in it.
TEST_CASE("backup workers on several servers go on whatever fails", "[recovery][slow]") {
  for (const char* late : {"drop", "cancel"}) {
    const std::string model =
        fmt::format("[consistency]\nmodel = \"backup-workers\"\nbackup = 1\nlate = \"{}\"\n", late);
    const Json expected = run(model);
    CHECK(run(model + "[recovery]\nenabled = true\n")["final"] == expected["final"]);
    CHECK(run(model + "[replication]\ncopies = 1\n")["updates"] == 60);
    const std::string quick = "[recovery]\nretry = \"20ms\"\nheartbeat = \"10ms\"\ntimeout = \"50ms\"\n";
    const std::string lossy = "[[fault]]\nkind = \"drop\"\nnodes = [\"all\"]\nprobability = 0.03\n";
    for (const char* node : {"server 0", "server 1", "worker 2"}) {
      const std::string crash = fmt::format(
          "[[fault]]\nkind = \"crash\"\nnodes = [\"{}\"]\nat = \"100ms\"\nrestart_after = \"30ms\"\n", node);
      for (const char* copies : {"", "[replication]\ncopies = 1\n"}) {
        const Json crashed = run(model + quick + copies + lossy + crash);
        INFO(late << " " << node << " " << copies);
        CHECK(crashed["stuck"].empty());
        CHECK(crashed["updates"] >= 60);
        CHECK(crashed["final"]["accuracy"] > 0.5);
      }
    }
  }
}

// It asks those who are there for what they know, and finds the next crash as the last one would have.
TEST_CASE("a scheduler that comes back takes its cluster up again", "[recovery]") {
  const Json expected = run("")["final"];
  const std::string scheduler =
      "[recovery]\nheartbeat = \"5ms\"\ntimeout = \"25ms\"\n[replication]\ncopies = 1\n"
      "[[fault]]\nkind = \"crash\"\nnodes = [\"scheduler\"]\nat = \"60ms\"\nrestart_after = \"20ms\"\n";
  CHECK(run(scheduler)["failures"]["suspicions"] == 0);
  CHECK(run(scheduler)["final"] == expected);
  const Json after = run(scheduler + "[[fault]]\nkind = \"crash\"\nnodes = [\"server 1\"]\nat = \"150ms\"\n");
  CHECK(after["failures"]["suspicions"] == 1);
  CHECK(after["final"] == expected);
  // What happens while nobody looks is found afterwards; also a server that is back before.
  for (const char* back : {"", "restart_after = \"5ms\"\n"}) {
    const Json meanwhile =
        run(scheduler + "[[fault]]\nkind = \"crash\"\nnodes = [\"server 1\"]\nat = \"65ms\"\n" + back);
    CHECK(meanwhile["stuck"].empty());
    CHECK(meanwhile["final"] == expected);
  }
}

TEST_CASE("lost and repeated messages change no bit of what is learned under bsp", "[recovery]") {
  const Json expected = run("")["final"];
  const std::string quick = "[recovery]\nretry = \"50ms\"\n";
  for (const char* kind : {"drop", "duplicate"}) {
    const Json lossy =
        run(fmt::format("{}[[fault]]\nkind = \"{}\"\nnodes = [\"all\"]\nprobability = 0.02\n", quick, kind));
    CHECK(lossy["final"] == expected);
  }
}

// After aggregation an update costs k copies of its sum, otherwise k copies of each of n pushes (Li et al.,
// OSDI 2014, section 4.4).
TEST_CASE("replication takes k M bytes an update, or n k M", "[recovery]") {
  const double parameters = 64 * 16 + 16 + 16 * 10 + 10;
  for (const int copies : {1, 2}) {
    const auto bytes = [&](const char* when) {
      const Json failures =
          run(fmt::format("[replication]\ncopies = {}\nwhen = \"{}\"\n", copies, when))["failures"];
      return failures["replication_bytes"].get<double>();
    };
    const double once = 60 * copies * parameters * 4;  // updates, copies, values, bytes
    const double ids = 60 * copies * 3 * 4 * 12;       // of 3 shards' 4 pushes
    CHECK(bytes("after-aggregation") == once + ids);
    // What is sent while the first copy of a shard is on its way is sent again.
    const double entry = parameters * 4 / 3 + 1 + 12;
    CHECK(bytes("every-push") >= 4 * once + ids);
    CHECK(bytes("every-push") <= 4 * once + ids + 3 * copies * entry);
  }
}

TEST_CASE("a worker that crashes halts bsp, unless it is removed", "[recovery]") {
  const std::string fault = "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 3\"]\nat = \"100ms\"\n";
  const Json halted = run("[recovery]\nworkers = \"wait\"\npatience = \"5s\"\n" + fault, 1);
  CHECK(!halted["stuck"].empty());
  CHECK(halted["updates"] < 60);
  CHECK(run("[recovery]\nworkers = \"remove\"\n" + fault)["updates"] == 60);
}

// Heartbeats come every h: silence is noticed D after the last one, so between D - h and D after the crash.
TEST_CASE("a crash is noticed within the timeout, and not before a heartbeat less", "[recovery]") {
  for (int phase = 0; phase < 8; ++phase) {
    const Json failures =
        run(fmt::format("[recovery]\nheartbeat = \"40ms\"\ntimeout = \"150ms\"\n[replication]\ncopies = 1\n"
                        "[[fault]]\nkind = \"crash\"\nnodes = [\"server 1\"]\nat = \"{}ms\"\n",
                        100 + 5 * phase))["failures"];
    const double detection = failures["recoveries"][0]["detection_s"];
    CHECK(detection > 0.110);
    CHECK(detection < 0.150 + 0.005);  // the last heartbeat was on its way
    CHECK(failures["recoveries"][0]["takeover_s"].get<double>() < 0.01);
  }
}

// The others wait for it before they start, and no longer than the detector does.
TEST_CASE("a node that crashes before it has joined is suspected, and the others start", "[recovery]") {
  const std::string quick = "[recovery]\nworkers = \"remove\"\ntimeout = \"20ms\"\nheartbeat = \"5ms\"\n";
  const auto crash_of = [&](const std::string& node, const std::string& more) {
    return run(quick + "[[fault]]\nkind = \"crash\"\nnodes = [\"" + node + "\"]\nat = \"0s\"\n" + more);
  };
  for (const char* node : {"worker 3", "server 1"}) {
    INFO(node);
    const Json lost = crash_of(node, "");
    CHECK(lost["updates"] == 60);
    CHECK(lost["failures"]["suspicions"] == 1);
    const Json back = crash_of(node, "restart_after = \"60ms\"\n");
    CHECK(back["updates"] == 60);
    CHECK(back["failures"]["suspicions"] == 1);
    CHECK(back["failures"]["false_suspicions"] == 0);
  }
}

// Requests that are at the next owner before the shard is wait for it there: with the default of a second
// before anything is sent again, nothing is.
TEST_CASE("a graceful change of owner costs the transfer, and no repetition", "[recovery][slow]") {
  const Json undisturbed = run("[recovery]\nenabled = true\n");
  for (const char* kind : {"leave", "join"}) {
    for (const int copies : {0, 1}) {
      for (const int at : {60, 100, 107}) {
        const std::string replication = fmt::format("[replication]\ncopies = {}\n", copies);
        const double before = run(replication + "[recovery]\nenabled = true\n")["sim_time_s"];
        const Json moved = run(fmt::format(
            "{}[[fault]]\nkind = \"{}\"\nnodes = [\"server 1\"]\nat = \"{}ms\"\n", replication, kind, at));
        CHECK(moved["final"] == undisturbed["final"]);
        CHECK(moved["failures"]["repeated_requests"] == 0);
        CHECK(moved["sim_time_s"].get<double>() < before + 0.03);
      }
    }
  }
}

// Every worker has two and a half digits of its own. What nobody sees any more nobody learns.
TEST_CASE("the samples of a lost worker are dropped, or the others share them out", "[recovery]") {
  const auto accuracy = [](const std::string& data) {
    const std::string lost = fmt::format(
        "[data]\npartition = \"by-label\"\n"
        "[recovery]\ntimeout = \"20ms\"\nheartbeat = \"5ms\"\nlost_data = \"{}\"\n"
        "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 3\"]\nat = \"2ms\"\n",
        data);
    return run(lost)["final"]["accuracy"].get<double>();
  };
  CHECK(accuracy("reassign") > accuracy("drop") + 0.1);
}
