// Who computes how much, and how samples get there, where nodes get slow and fail and messages are lost:
// times by hand. Links take no time that shows, unless a test is about them.
#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/oracles/unit_work.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

ScenarioBuilder toml(const std::string& training, const std::string& more, int workers = 4,
                     const std::string& speed = "\"1Mf\"") {
  return toml(UnitWork{.training = training, .speed = speed, .workers = workers, .more = more});
}

const std::string recovery = ScenarioBuilder({"recovery.enabled=true", "recovery.heartbeat=1s",
                                              "recovery.timeout=4s", "recovery.retry=2s"})
                                 .toml();

std::string crash(int worker, const std::string& at, const std::string& more = "") {
  return fmt::format("[[fault]]\nkind = \"crash\"\nnodes = [\"worker {}\"]\nat = \"{}\"\n{}", worker, at,
                     more);
}

double seconds(const Json& run) {
  CHECK(run["stuck"].empty());
  return run["sim_time_s"].get<double>();
}

std::vector<long> samples(const Json& run) {
  std::vector<long> result;
  for (const Json& worker : run["workers"]) result.push_back(worker["samples"].get<long>());
  return result;
}

long sum(const std::vector<long>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0L); }

// Under bsp each clock takes as long as its slowest worker; heartbeats change nothing.
Approx near(double t) { return Approx(t).epsilon(0).margin(1e-3); }

}  // namespace

TEST_CASE("dynamic work finds a worker that a fault slows down", "[work][work_failures]") {
  // Three workers of 1 Mf and 5 samples each: after 4 clocks of 5 s worker 1 has half its speed for good.
  const std::string slow =
      "[[fault]]\nkind = \"slow\"\nnodes = [\"worker 1\"]\nfactor = 0.5\nfrom = \"20s\"\n";
  const std::string training =
      "batch_size = 5\nsteps = 10\nwork_every = 2\nwork_smoothing = 1.0\nwork = \"dynamic\"";
  for (const std::string& more : {std::string(), recovery}) {
    INFO(more);
    const Json run = toml(training, slow + more, 3).run();
    // Two clocks of 10 s until the scheduler knows, then 6 : 3 : 6 samples in 6 s each.
    CHECK(seconds(run) == near(4 * 5 + 2 * 10 + 4 * 6));
    CHECK(samples(run) == std::vector<long>{6 * 5 + 4 * 6, 6 * 5 + 4 * 3, 6 * 5 + 4 * 6});
  }
}

TEST_CASE("a crashed worker's share goes to the others, and it gets one again", "[work][work_failures]") {
  // Four workers, 16 samples a clock, a decision before each. Worker 3 crashes in the third clock: 8 s to 12
  // s.
  const std::string training = "batch_size = 4\nsteps = 8\nwork_every = 1\nwork = \"dynamic\"";
  const Json gone = toml(training, recovery + crash(3, "9s")).run();
  const std::vector<long> left = samples(gone);
  CHECK(left[3] == 2 * 4);
  // The clock in which it crashed lacks its samples. In each of the 5 clocks after the others compute all 16.
  CHECK(left[0] + left[1] + left[2] == 3 * 12 + 5 * 16);
  CHECK(gone["updates"] == 8);
  // 9 s: the crash. Suspected 4 s after its last heartbeat; then 5 clocks of 6, 5 and 5 samples.
  CHECK(seconds(gone) > 12 + 5 * 6 - 1e-6);
  CHECK(seconds(gone) < 9 + 4 + 1 + 5 * 6 + 1e-6);
  const Json back = toml("batch_size = 4\nsteps = 20\nwork_every = 1\nwork = \"dynamic\"",
                         recovery + crash(3, "9s", "restart_after = \"20s\"\n"))
                        .run();
  CHECK(back["workers"][3]["batch_size"] == 4);
  for (const Json& worker : back["workers"]) CHECK(worker["batch_size"] == 4);
  // Every clock but the one of the crash has all its samples.
  CHECK(sum(samples(back)) == 20 * 16 - 4);
  CHECK(back["updates"] == 20);
}

TEST_CASE("with reassigned samples the others take over within a decision", "[work][work_failures]") {
  // Decisions come every 10 clocks: without reassignment the samples of worker 3 are left out until then.
  const std::string training = "batch_size = 6\nsteps = 20\nwork_every = 10\nwork = \"dynamic\"";
  const auto all = [&](const std::string& lost) {
    return sum(samples(
        toml(training, recovery + fmt::format("lost_data = \"{}\"\n", lost) + crash(3, "13s")).run()));
  };
  CHECK(all("drop") == 20 * 24 - 8 * 6);  // clocks 2 to 9
  CHECK(all("reassign") == 20 * 24 - 6);  // that of the crash alone
}

TEST_CASE("lost and doubled reports that come within the wait for them change nothing but times",
          "[work][work_failures]") {
  const std::string training = "batch_size = 5\nsteps = 12\nwork_every = 2\nwork = \"dynamic\"";
  const std::string slow = "[[straggler]]\nworkers = [1]\nslowdown = 2.0\n";
  const std::vector<long> expected = samples(toml(training, slow + recovery, 3).run());
  for (const std::string kind : {"drop", "duplicate"}) {
    const Json run = toml(training,
                          slow + recovery +
                              fmt::format("[[fault]]\nkind = \"{}\"\nmessages = [\"report\", "
                                          "\"assign\"]\nprobability = 0.3\n",
                                          kind),
                          3)
                         .run();
    INFO(kind);
    CHECK(run["stuck"].empty());
    CHECK(samples(run) == expected);
  }
}

TEST_CASE("without a common clock shares are by the newest times, too", "[work][work_failures]") {
  // 2 : 1 : 2 of 15 samples; a clock of 6 s for all, after the first ones of 5 s and 10 s.
  const std::string slow = "[[straggler]]\nworkers = [1]\nslowdown = 2.0\n";
  for (const std::string model : {"asp", "ssp"}) {
    for (const std::string& more : {std::string(), recovery}) {
      INFO(model << more);
      const std::string consistency = fmt::format("[consistency]\nmodel = \"{}\"\n", model);
      const Json dynamic =
          toml("batch_size = 5\nsteps = 40\nwork_every = 1\nwork = \"dynamic\"", slow + consistency + more, 3)
              .run();
      const Json fixed = toml("batch_size = 5\nsteps = 40", slow + consistency + more, 3).run();
      CHECK(seconds(fixed) == near(40 * 10));
      CHECK(seconds(dynamic) < 40 * 6 + 15);
      CHECK(dynamic["workers"][1]["batch_size"] == 3);
    }
  }
}

TEST_CASE("stealing helps a worker that a fault slows down", "[work][work_failures]") {
  // One of four at half its speed from the start: a clock takes 1600 samples over 3.5 a second.
  const std::string slow =
      "[[fault]]\nkind = \"slow\"\nnodes = [\"worker 1\"]\nfactor = 0.5\nfrom = \"0s\"\n";
  const double optimum = 5 * 1600 / 3.5;
  for (const std::string& more : {std::string(), recovery}) {
    const Json run = toml("batch_size = 400\nsteps = 5\nwork = \"stealing\"", slow + more).run();
    CHECK(seconds(run) < optimum * 1.06);
    CHECK(seconds(run) >= optimum * (1 - 1e-9));
    CHECK(sum(samples(run)) == 5 * 1600);
  }
}

TEST_CASE("who is ahead helps those behind where no clock is common", "[work][work_failures][slow]") {
  const std::string slow = "[[straggler]]\nworkers = [1]\nslowdown = 4.0\n";
  for (const std::string model : {"asp", "ssp", "k-async\"\nk = \"2"}) {
    const std::string consistency = model == "asp" || model == "ssp"
                                        ? fmt::format("[consistency]\nmodel = \"{}\"\n", model)
                                        : "[consistency]\nmodel = \"k-async\"\nk = 2\n";
    for (const std::string& more : {std::string(), recovery}) {
      INFO(model << more);
      const Json stolen =
          toml("batch_size = 100\nsteps = 20\nwork = \"stealing\"", slow + consistency + more).run();
      const Json fixed = toml("batch_size = 100\nsteps = 20", slow + consistency + more).run();
      CHECK(seconds(fixed) == Approx(20 * 400).epsilon(1e-3));
      // 8000 samples at 3.25 a second: all workers end nearly together.
      CHECK(seconds(stolen) < 20 * 400 / 3.25 * 1.5);
      CHECK(sum(samples(stolen)) == 20 * 400);
    }
  }
}

TEST_CASE("pieces of a helper that crashes are computed by their owner", "[work][work_failures][slow]") {
  const std::string slow = "[[straggler]]\nworkers = [0]\nslowdown = 4.0\n";
  for (const std::string after : {"", "restart_after = \"500s\"\n"}) {
    for (const std::string at : {"110s", "150s", "230s"}) {
      INFO(after << at);
      const TracedRun run =
          toml("batch_size = 100\nsteps = 8\nwork = \"stealing\"", slow + recovery + crash(2, at, after))
              .trace();
      CHECK(run.summary["stuck"].empty());
      CHECK(run.summary["updates"] == 8);
      // Each push counts its whole batch: what was given away came back, or was computed by its owner.
      for (const RecordedEvent& e : run.events) {
        if (e.is("push_outcome", "applied") && e.peer == 2) CHECK(e["clock"] < 8);
      }
    }
  }
}

TEST_CASE("whatever is lost between workers, a clock with stolen work ends", "[work][work_failures]") {
  const std::string slow = "[[straggler]]\nworkers = [0]\nslowdown = 4.0\n";
  for (const std::string kind : {"idle", "piece", "gradient"}) {
    for (const std::string model : {"bsp", "asp"}) {
      INFO(kind << " " << model);
      const std::string lost = fmt::format(
          "[consistency]\nmodel = \"{}\"\n[[fault]]\nkind = \"drop\"\nmessages = [\"{}\"]\n"
          "probability = 0.5\n[[fault]]\nkind = \"duplicate\"\nmessages = [\"{}\"]\nprobability = 0.5\n",
          model, kind, kind);
      const Json run = toml("batch_size = 100\nsteps = 6\nwork = \"stealing\"", slow + recovery + lost).run();
      CHECK(run["stuck"].empty());
      CHECK(sum(samples(run)) >= 6 * 400);
      // All lost: every owner computes its batch itself, as without stealing, and waits for 2 s at most.
      CHECK(run["sim_time_s"].get<double>() < 6 * (400 + 2 + 100));
    }
  }
}

namespace {

std::vector<double> losses(const std::string& training, const std::string& more) {
  const Json run =
      ScenarioBuilder({"model.layers=[64, 8, 10]", "model.precision=float64", "training.batch_size=20",
                       "training.steps=15", "training.learning_rate=0.1", "training.evaluate_every=1 updates",
                       "cluster.workers=3", "cluster.worker.speed=[\"0.5Mf\", \"1Mf\", \"2Mf\"]"})
          .with("training", training)
          .straggler(2, 5)
          .with(more)
          .run();
  CHECK(run["stuck"].empty());
  CHECK(run["updates"] == 15);
  std::vector<double> result;
  for (const Json& point : run["curve"]) result.push_back(point["loss"].get<double>());
  return result;
}

}  // namespace

TEST_CASE("what helps against failures changes nothing that is learned", "[work][work_failures][slow]") {
  const std::vector<double> expected = losses("", "");

  for (const std::string training :
       {"work = \"dynamic\"\nwork_every = 2", "work = \"stealing\"", "work = \"stealing\"\naccumulate = 1"}) {
    for (const std::string& more :
         {std::string(), std::string("[recovery]\nenabled = true\n"),
          std::string("[data]\ndelivery = \"database\"\n[recovery]\nenabled = true\n"),
          std::string("[snapshot]\nevery = \"3 updates\"\n")}) {
      INFO(training << "\n" << more);
      const std::vector<double> same = losses(training, more);
      REQUIRE(same.size() == expected.size());
      for (std::size_t i = 0; i < same.size(); ++i) CHECK(same[i] == Approx(expected[i]).epsilon(1e-12));
    }
  }
}

TEST_CASE("a database that is down is waited for", "[work][work_failures]") {
  // One worker; 4 samples take 4 s, and their bytes no time. The batch of the third step is asked for at 8 s.
  const std::string delivery = "[data]\ndelivery = \"database\"\nbytes_per_sample = \"1kB\"\nprefetch = 0\n";
  const std::string down =
      "[[fault]]\nkind = \"crash\"\nnodes = [\"database\"]\nat = \"7s\"\nrestart_after = \"3s\"\n";
  const Json run = toml("batch_size = 4\nsteps = 5", delivery + recovery + down, 1).run();
  // It asks again after 2 s, at 10 s, when the database is back; or after 4 s more.
  CHECK((seconds(run) == near(5 * 4 + 2) || seconds(run) == near(5 * 4 + 6)));
  for (const std::string kind : {"drop", "duplicate"}) {
    const Json lossy =
        toml("batch_size = 4\nsteps = 20",
             delivery + recovery +
                 fmt::format(
                     "[[fault]]\nkind = \"{}\"\nmessages = [\"fetch\", \"samples\"]\nprobability = 0.4\n",
                     kind),
             2)
            .run();
    CHECK(lossy["stuck"].empty());
    CHECK(samples(lossy) == std::vector<long>(2, 80));
  }
}

namespace {

struct Moved {
  double bytes = 0, first_step = 0;
  long messages = 0;
  Json summary;
};

// Worker 3 of four joins at 1 s; it is to hold a quarter of 400 samples of 1 MB. Links of 1 GB/s and 1 ms.
Moved moved(const std::string& from, const std::string& lost, const std::string& more = "",
            const std::string& partition = "contiguous") {
  const TracedRun run =
      ScenarioBuilder({"data.source=blobs", "data.samples=500", "data.features=4", "data.classes=3",
                       "data.bytes_per_sample=1MB", "model.layers=[4, 3]", "training.batch_size=4",
                       "training.duration=4s", "consistency.model=asp", "cluster.workers=4",
                       "cluster.worker.speed=10kf", "recovery.heartbeat=100ms", "recovery.timeout=500ms",
                       "recovery.retry=500ms"})
          .links("1GBps", "1ms")
          .set("data.partition", partition)
          .set("recovery.data_from", from)
          .set("recovery.lost_data", lost)
          .with("recovery", more)
          .trace();
  Moved result{.summary = run.summary};
  double joined = 0;
  for (const RecordedEvent& e : run.events) {
    if (e.is("sent", "samples")) {
      result.bytes += static_cast<double>(e["sent_bytes"]);
      ++result.messages;
    }
    if (e.is("received", "start") && e.at > 1) joined = e.at;
    if (joined > 0 && result.first_step == 0 && e.is("computation", "begun") && e.node == 5)
      result.first_step = e.at - joined;
  }
  return result;
}

const std::string joins = "[[fault]]\nkind = \"join\"\nnodes = [\"worker 3\"]\nat = \"1s\"\n";

}  // namespace

TEST_CASE("a worker that joins waits for its samples: latency and bytes over bandwidth",
          "[work][work_failures][slow]") {
  const Moved free = moved("local", "drop", joins);
  CHECK(free.messages == 0);
  const long train = 400;
  const Moved database = moved("database", "drop", joins);
  CHECK(database.messages == 1);
  CHECK(database.bytes == train / 4 * 1e6);
  // A question and the answer: two hops of 1 ms each way, and 0.1 s for 100 MB.
  CHECK(database.first_step == Approx(0.004 + 0.1).margin(1e-3));
  // Nobody else held them.
  CHECK(moved("workers", "drop", joins).bytes == database.bytes);
  // The other three held a third each.
  const Moved workers = moved("workers", "reassign", joins);
  CHECK(workers.messages == 3);
  CHECK(workers.bytes == train / 4 * 1e6);
  CHECK(workers.first_step == Approx(0.004 + 0.1).margin(2e-3));
  // With iid samples a worker sees all of them.
  CHECK(moved("workers", "reassign", joins, "iid").bytes == train * 1e6);
}

TEST_CASE("what a worker leaves behind is taken over, from itself or from the database",
          "[work][work_failures]") {
  const std::string leaves = "[[fault]]\nkind = \"leave\"\nnodes = [\"worker 3\"]\nat = \"1s\"\n";
  const std::string crashes = "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 3\"]\nat = \"1s\"\n";
  CHECK(moved("workers", "drop", leaves).messages == 0);
  for (const std::string& gone : {leaves, crashes}) {
    for (const std::string from : {"database", "workers"}) {
      INFO(gone << from);
      const Moved run = moved(from, "reassign", gone);
      CHECK(run.summary["stuck"].empty());
      CHECK(run.messages == 3);
      CHECK(run.bytes == 100 * 1e6);
    }
  }
}

TEST_CASE("samples arrive although messages and nodes are lost on the way", "[work][work_failures][slow]") {
  const std::string lost =
      "[[fault]]\nkind = \"drop\"\nmessages = [\"fetch\", \"samples\"]\nfrom = \"0s\"\nuntil = \"1.2s\"\n";
  const std::string holder = "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 0\"]\nat = \"1.05s\"\n";
  const std::string down =
      "[[fault]]\nkind = \"crash\"\nnodes = [\"database\"]\nat = \"1.05s\"\nrestart_after = \"1s\"\n";
  for (const std::string from : {"database", "workers"}) {
    for (const std::string& more : {lost, holder, down}) {
      INFO(from << more);
      const Moved run = moved(from, "reassign", joins + more);
      CHECK(run.summary["stuck"].empty());
      CHECK(run.first_step > 0);
      CHECK(run.summary["workers"][3]["samples"].get<long>() > 0);
    }
  }
}
