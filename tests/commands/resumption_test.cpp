// Whoever comes back, or takes another's place, goes on where that one was: with the same batches, the same
// compensation of late gradients, and without weights that never travelled.
#include <map>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/run_file.hpp"

using namespace psim::test;

namespace {

void check_same_weights(const std::string& toml) {
  const Json failed = run_toml(toml), expected = run_toml(toml, {"--set", "fault=[]"});
  INFO(toml);
  CHECK(failed["stuck"].empty());
  CHECK(failed["sim_time_s"] > expected["sim_time_s"]);
  CHECK(failed["final"] == expected["final"]);
}

}  // namespace

// One worker, one server that stays: a crash of the worker costs time, and changes no bit. The first clock
// may have more local steps than the others.
TEST_CASE("a worker that comes back goes on with the batches that were next", "[recovery][slow]") {
  for (const char* rhythm :
       {"", "local_steps = 2\n", "local_steps = 2\nwarmup_steps = 10\n",
        "local_steps = 3\nwarmup_steps = 5\n", "accumulate = 2\nlocal_steps = 2\nwarmup_steps = 3\n"}) {
    for (const char* partition : {"iid", "contiguous"}) {
      check_same_weights(std::string("seed = 9\n[data]\npartition = \"") + partition +
                         "\"\n[training]\nbatch_size = 16\nsteps = 20\nlearning_rate = 0.05\n" + rhythm + R"(
[model]
precision = "float64"
[cluster]
workers = 1
servers = 1
[compute]
time = "20ms"
[consistency]
model = "asp"
[recovery]
heartbeat = "40ms"
timeout = "200ms"
retry = "40ms"
[[fault]]
kind = "crash"
nodes = ["worker 0"]
at = "310ms"
restart_after = "100ms"
)");
    }
  }
}

TEST_CASE("a takeover changes nothing of how late gradients are compensated", "[recovery]") {
  for (const char* when : {"after-aggregation", "every-push"}) {
    for (const char* decay : {"0", "0.9"}) {
      check_same_weights(std::string("seed = 5\n[training]\nsteps = 40\nbatch_size = 16\npull_every = 3\n") +
                         "learning_rate = 0.05\ndelay_compensation = 2.0\ndelay_compensation_decay = " +
                         decay + "\n[replication]\ncopies = 1\nwhen = \"" + when + R"("
[model]
precision = "float64"
[cluster]
workers = 1
servers = 2
[compute]
time = "20ms"
[consistency]
model = "asp"
[recovery]
heartbeat = "40ms"
timeout = "200ms"
retry = "80ms"
[[fault]]
kind = "crash"
nodes = ["server 1"]
at = "412ms"
)");
    }
  }
}

// A filter that leaves values out presupposes that the receiver has what it had before. After a lost answer,
// and for a worker that has come back, all of the shard travels.
TEST_CASE("what a filtered answer leaves out has travelled before", "[recovery]") {
  for (const char* fault :
       {"kind = \"drop\"\nmessages = [\"weights\"]\nprobability = 0.1\n",
        "kind = \"crash\"\nnodes = [\"worker 1\"]\nat = \"105ms\"\nrestart_after = \"70ms\"\n"}) {
    const TracedRun run = trace_toml(std::string(R"(
[model]
kind = "phantom"
parameters = 1000
[training]
steps = 40
batch_size = 4
[cluster]
workers = 2
servers = 1
[compute]
time = "5ms"
[[filter]]
kind = "random-skip"
on = "pull"
probability = 0.9
[recovery]
heartbeat = "5ms"
timeout = "30ms"
retry = "20ms"
[[fault]]
)") + fault);
    REQUIRE(run.summary["stuck"].empty());
    std::map<int, bool> has_base;  // by worker: it has the last answer
    int whole = 0;
    for (const RecordedEvent& event : run.events) {
      if (event.is("sent", "join")) has_base[event.node] = false;
      if (event.kind != "weights") continue;
      if (event.is("lost")) has_base[event.peer] = false;
      if (event.is("received")) has_base[event.node] = true;
      if (!event.is("sent")) continue;
      INFO("at " << event.at << " s to node " << event.peer);
      if (!has_base[event.peer]) CHECK(event["sent_bytes"] == 4000);
      whole += event["sent_bytes"] == 4000 ? 1 : 0;
    }
    CHECK(whole > 2);
    CHECK(whole < 40);
  }
}

// Worker 0 has not heard of the end when both servers lose everything. Worker 1 has: it waits for nothing any
// more, but the shards that begin anew need its pushes too.
TEST_CASE("a worker that was through takes part again when a shard is set back", "[recovery]") {
  const TracedRun run = trace_toml(R"(
[model]
kind = "phantom"
parameters = 1000
[training]
steps = 5
batch_size = 4
[cluster]
workers = 2
servers = 2
[compute]
time = "50ms"
[recovery]
heartbeat = "20ms"
timeout = "100ms"
retry = "50ms"
longest_retry = "200ms"
servers = "wait"
[[fault]]
kind = "drop"
between = [["servers"], ["worker 0"]]
messages = ["finished"]
until = "1s"
[[fault]]
kind = "crash"
nodes = ["servers"]
at = "500ms"
restart_after = "10ms"
)");
  CHECK(run.summary["stuck"].empty());
  constexpr int worker = 4;
  std::map<std::int64_t, int> applied;  // of its pushes, by shard
  for (const RecordedEvent& event : run.events) {
    if (event.is("finish") && event.node == worker && event.at < 0.5) applied.clear();
    if (event.is("push_outcome", "applied") && event.peer == worker) ++applied[event["shard"]];
  }
  CHECK(applied[0] >= 4);
  CHECK(applied[1] >= 4);
}
