// The samples that a worker holds, and whom it asks for those that it lacks.
#include <fmt/format.h>

#include <string>

#include "model/dataset.hpp"
#include "model/sampler.hpp"
#include "sim/nodes/worker/batch_source.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// 48 samples to learn from. Nodes: scheduler 0, server 1, workers 2 to 5, database 6. The last worker joins.
std::string scenario(const std::string& from, const std::string& partition,
                     const std::string& lost = "reassign") {
  return "[data]\nsource = \"blobs\"\nsamples = 60\nfeatures = 4\nclasses = 3\npartition = \"" + partition +
         "\"\n[model]\nlayers = [4, 3]\n[training]\nbatch_size = 4\nsteps = 9\n[compute]\ntime = \"1s\"\n"
         "[cluster]\nworkers = 4\nservers = 1\n"
         "network = {latency = \"500ms\", bandwidth = \"10GBps\", share_spread = 0.0, simgrid_model = "
         "\"cm02\"}\n"
         "[recovery]\nretry = \"5s\"\ndata_from = \"" +
         from + "\"\nlost_data = \"" + lost +
         "\"\n[[fault]]\nkind = \"join\"\nnodes = [\"worker 3\"]\nat = \"1s\"\n";
}

const std::vector<bool> all{true, true, true, true}, first_three{true, true, true, false};

// What worker `w` asks whom for.
Lines asked(Stage& stage) {
  Lines lines;
  for (const Sent& sent : stage.recorded<Sent>()) {
    if (sent.kind == MessageKind::fetch) lines.push_back(fmt::format("{} of {}", sent.keys, sent.to));
  }
  return lines;
}

Lines play(const std::string& toml, std::uint32_t worker,
           const std::function<void(Stage&, Holdings&, Requests&)>& part) {
  Lines lines = on_stage(toml, [&](Stage& stage) {
    Requests requests(stage.job(), stage.worker(worker));
    Holdings holdings(stage.job(), stage.worker(worker), requests);
    part(stage, holdings, requests);
  });
  for (std::string& line : lines) line = line.substr(line.find(' ') + 1);
  return lines;
}

void say_all(Stage& stage, const Holdings& holdings) {
  for (const std::string& line : asked(stage)) stage.say(line);
  stage.say(holdings.is_complete() ? "complete" : "incomplete");
}

}  // namespace

TEST_CASE("holdings: who is there at first holds its part", "[roles][holdings]") {
  for (const std::string from : {"workers", "database"}) {
    for (const std::string partition : {"contiguous", "iid"}) {
      const Lines lines = play(scenario(from, partition), 1, [](Stage& stage, Holdings& holdings, Requests&) {
        holdings.need(first_three);
        say_all(stage, holdings);
      });
      CHECK(lines == Lines{"complete"});
    }
  }
}

TEST_CASE("holdings: who joins asks those who held its part when it was not there", "[roles][holdings]") {
  // Its 12 samples were shared out among three.
  const Lines workers =
      play(scenario("workers", "contiguous"), 3, [](Stage& stage, Holdings& holdings, Requests&) {
        holdings.need(all);
        say_all(stage, holdings);
        for (const std::int64_t number : {2, 0}) holdings.on(2, Samples{.step = number});
        stage.say(holdings.is_complete() ? "complete" : "incomplete");
        holdings.on(3, Samples{.step = 1});
        stage.say(holdings.is_complete() ? "complete" : "incomplete");
      });
  CHECK(workers == Lines{"4 of 2", "4 of 3", "4 of 4", "incomplete", "incomplete", "complete"});
  const Lines database =
      play(scenario("database", "contiguous"), 3, [](Stage& stage, Holdings& holdings, Requests&) {
        holdings.need(all);
        say_all(stage, holdings);
      });
  CHECK(database == Lines{"12 of 6", "incomplete"});
}

TEST_CASE("holdings: what no worker holds comes from the database", "[roles][holdings]") {
  // Where samples of the lost are dropped nobody holds the part of a worker that was never there.
  const Lines lines =
      play(scenario("workers", "contiguous", "drop"), 3, [](Stage& stage, Holdings& holdings, Requests&) {
        holdings.need(all);
        say_all(stage, holdings);
      });
  CHECK(lines == Lines{"12 of 6", "incomplete"});
}

TEST_CASE("holdings: of iid samples each holder sends an equal share", "[roles][holdings]") {
  const Lines lines = play(scenario("workers", "iid"), 3, [](Stage& stage, Holdings& holdings, Requests&) {
    holdings.need({true, false, true, true});
    say_all(stage, holdings);
  });
  CHECK(lines == Lines{"24 of 2", "24 of 4", "incomplete"});
}

TEST_CASE("holdings: whoever gets a larger part asks for what it lacks", "[roles][holdings]") {
  // Worker 1 goes: the three others get 4 of its 12 samples each, which no worker that is there holds.
  const Lines lines =
      play(scenario("database", "contiguous"), 0, [](Stage& stage, Holdings& holdings, Requests&) {
        holdings.need(all);
        say_all(stage, holdings);
        holdings.need({true, false, true, true});
        holdings.need({true, false, true, true});  // nothing new
        say_all(stage, holdings);
      });
  CHECK(lines == Lines{"complete", "4 of 6", "incomplete"});
}

TEST_CASE("holdings: what is on its way is not asked for again", "[roles][holdings]") {
  const Lines lines =
      play(scenario("database", "contiguous"), 3, [](Stage& stage, Holdings& holdings, Requests&) {
        holdings.need(all);
        holdings.need({true, false, true, true});  // 4 more
        say_all(stage, holdings);
      });
  CHECK(lines == Lines{"12 of 6", "4 of 6", "incomplete"});
}

TEST_CASE("holdings: a holder that lacks a sample says so, and the database is asked", "[roles][holdings]") {
  const Lines lines =
      play(scenario("workers", "contiguous"), 3, [](Stage& stage, Holdings& holdings, Requests&) {
        holdings.need(all);
        holdings.on(2, Samples{.step = 0, .lacks = true});
        holdings.on(6, Samples{.step = 0});
        holdings.on(6, Samples{.step = 0});  // it comes twice
        holdings.on(3, Samples{.step = 1});
        say_all(stage, holdings);
        holdings.on(4, Samples{.step = 2});
        stage.say(holdings.is_complete() ? "complete" : "incomplete");
      });
  CHECK(lines == Lines{"4 of 2", "4 of 3", "4 of 4", "4 of 6", "incomplete", "complete"});
}

TEST_CASE("holdings: a holder that does not answer is not asked again, but the database is",
          "[roles][holdings]") {
  const Lines lines = on_stage(scenario("workers", "iid"), [](Stage& stage) {
    stage.say_sent({MessageKind::fetch});
    Requests requests(stage.job(), stage.worker(3));
    Holdings holdings(stage.job(), stage.worker(3), requests);
    stage.act(stage.worker(3), [&] {
      holdings.need({true, false, false, true});
      stage.sleep(5);
      requests.repeat(5);
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 fetch 5 > 2 #0", "5 fetch 5 > 6 #0"});
}

TEST_CASE("holdings: a worker sends what it holds, and it keeps what it has to give up for one change more",
          "[roles][holdings]") {
  const Lines lines = on_stage(scenario("workers", "contiguous"), [](Stage& stage) {
    Requests requests(stage.job(), stage.worker(0));
    Holdings holdings(stage.job(), stage.worker(0), requests);
    const auto& part = stage.plan().sampler->part(0, first_three);  // 12 of its own and 4 of the absent one's
    const auto extra = std::make_shared<const Keys>(Keys{part.back()});
    std::int64_t number = 0;
    const auto serve = [&] {
      holdings.serve({.from = stage.worker(3),
                      .to = stage.worker(0),
                      .body = Fetch{.step = number++, .sample_bytes = 20, .samples = extra}});
    };
    stage.act(stage.worker(3), [&] {
      for (int turn = 0; turn < 4; ++turn) {
        const Message message = stage.job().network.receive(stage.worker(3));
        const Samples& samples = *message.as<Samples>();
        stage.say(fmt::format("{}: {}", samples.step, samples.lacks ? "lacks" : "sends"));
      }
    });
    stage.act(stage.worker(0), [&] {
      serve();  // before it knows its part
      stage.sleep(1);
      holdings.need(first_three);
      serve();
      stage.sleep(1);
      holdings.need(all);
      serve();
      stage.sleep(1);
      holdings.need({true, true, false, true});
      serve();
    });
    stage.run();
  });
  CHECK(lines == Lines{"1 0: lacks", "2 1: sends", "3 2: sends", "4 3: lacks"});
}
