// Where a worker's batches come from: their sizes, their samples, and whether they are here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <string>
#include <vector>

#include "model/dataset.hpp"
#include "model/sampler.hpp"
#include "sim/nodes/worker/batch_source.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// 48 samples of 5 features to learn from; three workers, of which the second is twice as fast.
std::string scenario(const std::string& training, const std::string& more = "",
                     const std::string& data = "") {
  return "[data]\nsource = \"blobs\"\nsamples = 60\nfeatures = 5\nclasses = 3\n" + data +
         "[model]\nlayers = [5, 3]\n[training]\nbatch_size = 4\nsteps = 9\n" + training +
         "[cluster]\nworkers = 3\nservers = 2\n[cluster.worker]\nspeed = [\"1Mf\", \"2Mf\", \"1Mf\"]\n" +
         more;
}
const std::string delivered = "delivery = \"database\"\n";
const std::string fails = "[recovery]\nenabled = true\nlost_data = \"reassign\"\n";

// The batch sources of all workers.
struct Sources {
  explicit Sources(Stage& stage) {
    for (std::uint32_t w = 0; w < stage.plan().workers(); ++w) {
      requests.emplace_back(stage.job(), stage.worker(w));
      of.emplace_back(stage.job(), stage.worker(w), requests.back());
    }
  }
  std::deque<Requests> requests;
  std::deque<BatchSource> of;
};

using Samples32 = std::vector<std::uint32_t>;

Lines play(const std::string& toml, const std::function<void(Stage&, Sources&)>& part) {
  Lines lines = on_stage(toml, [&](Stage& stage) {
    Sources sources(stage);
    part(stage, sources);
  });
  for (std::string& line : lines) line = line.substr(line.find(' ') + 1);
  return lines;
}

void say_if(Stage& stage, bool holds, const std::string& what) { stage.say(what + (holds ? "" : ": NOT")); }

// Prepares and takes steps until `step`, and says nothing.
std::vector<std::vector<Batch>> batches_of(BatchSource& source, std::int64_t step) {
  std::vector<std::vector<Batch>> batches;
  for (std::int64_t s = 0; s <= step; ++s) {
    source.prepare(s);
    batches = source.take();
  }
  return batches;
}

}  // namespace

TEST_CASE("batches: a clock of all workers is the next piece of one sequence, however it is shared out",
          "[roles][batches]") {
  const Lines lines = play(scenario("work = \"proportional\"\n"), [](Stage& stage, Sources& sources) {
    for (std::int64_t step = 0; step < 5; ++step) {
      Samples32 all;
      for (BatchSource& source : sources.of) {
        say_if(stage, source.prepare(step), "here");
        const auto batches = source.take();
        all.insert(all.end(), batches.at(0).at(0).begin(), batches.at(0).at(0).end());
      }
      say_if(stage, all == stage.plan().sampler->samples(0, step * 12, 12), "in order");
    }
    for (const BatchSource& source : sources.of)
      stage.say(fmt::format("{} samples, {} last", source.in_hand(), source.last_batch_size()));
  });
  Lines expected;
  for (int step = 0; step < 5; ++step)
    for (const std::string what : {"here", "here", "here", "in order"}) expected.push_back(what);
  for (const std::string what : {"3 samples, 3 last", "6 samples, 6 last", "3 samples, 3 last"})
    expected.push_back(what);
  CHECK(lines == expected);
}

TEST_CASE("batches: with shards every worker goes through its own", "[roles][batches]") {
  const std::string data = "partition = \"by-label\"\n";
  const Lines lines = play(scenario("local_steps = 2\n", "", data), [](Stage& stage, Sources& sources) {
    for (std::uint32_t w = 0; w < 3; ++w) {
      const auto batches = batches_of(sources.of[w], 3);  // the seventh and the eighth
      say_if(stage, batches.at(0).at(0) == stage.plan().sampler->samples(w, 24, 4), "seventh");
      say_if(stage, batches.at(1).at(0) == stage.plan().sampler->samples(w, 28, 4), "eighth");
    }
  });
  CHECK(lines == Lines{"seventh", "eighth", "seventh", "eighth", "seventh", "eighth"});
}

TEST_CASE("batches: a clock has its local steps, each of them as many batches as are accumulated",
          "[roles][batches]") {
  const std::string training = "local_steps = 2\naccumulate = 3\nwarmup_steps = 4\n";
  const Lines lines = play(scenario(training), [](Stage& stage, Sources& sources) {
    BatchSource &first = sources.of[0], &late = sources.of[2];
    late.is_late();
    for (BatchSource* source : {&first, &late}) {
      for (const std::int64_t step : {0, 1}) {
        source->prepare(step);
        const auto batches = source->take();
        stage.say(
            fmt::format("{} steps of {}: {} samples", batches.size(), batches[0].size(), source->in_hand()));
      }
    }
    // 12 batches and 6 of each worker before that: the next of all begin at 18 * 12.
    first.prepare(2);
    say_if(stage, first.batches()[0][0] == stage.plan().sampler->samples(0, 18 * 12, 4), "the next");
    say_if(stage, first.batches()[1][2] == stage.plan().sampler->samples(0, 23 * 12, 4), "the last");
  });
  CHECK(lines == Lines{"4 steps of 3: 48 samples", "2 steps of 3: 24 samples", "2 steps of 3: 24 samples",
                       "2 steps of 3: 24 samples", "the next", "the last"});
}

TEST_CASE("batches: who goes on at a later clock sees what it would have seen then", "[roles][batches]") {
  for (const std::string data : {"", "partition = \"by-label\"\n"}) {
    const std::string training =
        "work = \"proportional\"\nlocal_steps = 2\naccumulate = 2\nwarmup_steps = 3\n";
    const Lines lines = play(scenario(training, "", data), [](Stage& stage, Sources& sources) {
      for (const std::int64_t to : {1, 4}) {
        Requests requests(stage.job(), stage.worker(1));
        BatchSource anew(stage.job(), stage.worker(1), requests);
        anew.prepare(0);
        anew.skip_to(to);
        anew.prepare(to);
        Requests others(stage.job(), stage.worker(1));
        BatchSource before(stage.job(), stage.worker(1), others);
        say_if(stage, anew.take() == batches_of(before, to), "the same");
      }
      BatchSource& back = sources.of[1];
      batches_of(back, 2);
      back.skip_to(0);
      back.prepare(0);
      Requests requests(stage.job(), stage.worker(1));
      BatchSource first(stage.job(), stage.worker(1), requests);
      say_if(stage, back.take() == batches_of(first, 0), "from the beginning");
    });
    CHECK(lines == Lines{"the same", "the same", "from the beginning"});
  }
}

TEST_CASE("batches: what a database delivers is asked for ahead, up to the last step, and waited for",
          "[roles][batches]") {
  const std::string training = "warmup_steps = 2\n";
  const Lines lines =
      play(scenario(training, "", delivered + "prefetch = 2\n"), [](Stage& stage, Sources& sources) {
        BatchSource& source = sources.of[1];
        stage.say_sent({MessageKind::fetch});
        source.ask_ahead(0);
        say_if(stage, !source.prepare(0), "not here");
        source.on({.from = 6}, Samples{.step = 1});
        say_if(stage, !source.prepare(0), "not here");
        source.on({.from = 6}, Samples{.step = 0});
        source.on({.from = 6}, Samples{.step = 0});  // a second time
        say_if(stage, source.prepare(0), "here");
        source.take();
        say_if(stage, source.prepare(1), "here");
        source.take();
        say_if(stage, !source.prepare(7), "not here");  // which asks for 7 and 8, and not for a tenth step
      });
  Lines expected;
  for (const int step : {0, 1, 2}) expected.push_back(fmt::format("fetch 4 > 6 #{}", step));
  for (const std::string what : {"not here", "not here", "here"}) expected.push_back(what);
  expected.push_back("fetch 4 > 6 #3");
  expected.push_back("here");
  for (const int step : {4, 5, 6, 7, 8}) expected.push_back(fmt::format("fetch 4 > 6 #{}", step));
  expected.push_back("not here");
  CHECK(lines == expected);
}

TEST_CASE("batches: a database is asked for the bytes of all samples of a step", "[roles][batches]") {
  const std::string training = "warmup_steps = 3\naccumulate = 2\nwork = \"proportional\"\n";
  const Lines lines =
      play(scenario(training, "", delivered + "prefetch = 0\n"), [](Stage& stage, Sources& sources) {
        stage.job().network.on_arrival([&](const Message& message) {
          stage.say(fmt::format("{} bytes of step {}", message.as<Fetch>()->sample_bytes,
                                message.as<Fetch>()->step));
        });
        stage.act(stage.worker(1), [&] {
          sources.of[1].prepare(0);
          stage.sleep(1);
          sources.of[1].prepare(1);
          stage.sleep(1);
        });
        stage.run();
      });
  // 6 samples of 24 bytes in each of 6 batches, and of 2.
  CHECK(lines == Lines{"864 bytes of step 0", "288 bytes of step 1"});
}

TEST_CASE("batches: samples that others take are not this worker's, and what it takes of others is",
          "[roles][batches]") {
  const Lines lines = play(scenario("local_steps = 2\n"), [](Stage& stage, Sources& sources) {
    BatchSource& source = sources.of[0];
    for (const std::int64_t step : {0, 1}) {
      source.prepare(step);
      source.take();
      source.computed(1.0, step * 3);
    }
    source.computed_more(5);
    stage.say(fmt::format("{} samples", source.samples_computed()));
  });
  CHECK(lines == Lines{"18 samples"});  // 2 * 8 - 3 + 5
}

TEST_CASE("batches: when one takes no part the others share out all samples from the next draw on",
          "[roles][batches]") {
  const Lines lines = play(scenario("work = \"proportional\"\n", fails), [](Stage& stage, Sources& sources) {
    const std::vector<bool> members{false, true, true};
    for (std::uint32_t w = 0; w < 3; ++w) {
      sources.of[w].prepare(0);
      sources.of[w].share_out_among(members);
      sources.of[w].prepare(1);
      sources.of[w].take();
    }
    Samples32 all;
    for (const std::uint32_t w : {1U, 2U}) {
      const Batch batch = sources.of[w].take().at(0).at(0);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    say_if(stage, all == stage.plan().sampler->samples(0, 9, 9), "the second clock's, of nine samples");
    // Who takes no part itself goes on as it did.
    say_if(stage, sources.of[0].take().at(0).at(0) == stage.plan().sampler->samples(0, 12, 3), "as before");
  });
  CHECK(lines == Lines{"the second clock's, of nine samples", "as before"});
}

TEST_CASE("batches: without reassignment an absent worker's samples are nobody's", "[roles][batches]") {
  const std::string drops = "[recovery]\nenabled = true\nlost_data = \"drop\"\n";
  const Lines lines = play(scenario("", drops), [](Stage& stage, Sources& sources) {
    sources.of[2].share_out_among({true, false, true});
    say_if(stage, batches_of(sources.of[2], 0).at(0).at(0) == stage.plan().sampler->samples(0, 8, 4),
           "its own");
  });
  CHECK(lines == Lines{"its own"});
}

TEST_CASE("batches: in step a clock of a new decision begins when the decision is here", "[roles][batches]") {
  const std::string training = "work = \"dynamic\"\nwork_every = 2\nwork_smoothing = 1.0\n";
  const Lines lines = play(scenario(training), [](Stage& stage, Sources& sources) {
    BatchSource& source = sources.of[1];
    for (const std::int64_t step : {0, 1}) {
      say_if(stage, source.prepare(step), "here");
      source.take();
      source.computed(step == 0 ? 2.0 : 4.0);
    }
    say_if(stage, !source.prepare(2), "not here");
    stage.say(fmt::format("next {}", source.next_batch_size()));
    source.on(Assign{.clock = 2, .batch_size = 7, .samples_before = 3});
    say_if(stage, source.prepare(2), "here");
    say_if(stage, source.batches()[0][0] == stage.plan().sampler->samples(0, 2 * 12 + 3, 7), "its share");
    stage.say(fmt::format("scale {}", source.scale()));
    source.take();
    say_if(stage, source.prepare(3), "here");
    stage.say(fmt::format("size {}", source.batch_size()));
    stage.say(fmt::format("{} report", stage.recorded<Sent>().size()));
  });
  CHECK(lines == Lines{"here", "here", "not here", "next 4", "here", "its share", "scale 1.75", "here",
                       "size 7", "1 report"});
}

TEST_CASE("batches: elsewhere the newest decision counts, and an older one that comes later does not",
          "[roles][batches]") {
  const std::string training = "work = \"dynamic\"\nwork_every = 2\n";
  const Lines lines =
      play(scenario(training, "[consistency]\nmodel = \"asp\"\n"), [](Stage& stage, Sources& sources) {
        BatchSource& source = sources.of[0];
        const auto assign = [&](std::int64_t number, std::int64_t size) {
          source.on(Assign{.clock = number, .batch_size = size, .decision = number});
        };
        batches_of(source, 4);  // nobody waits
        assign(2, 6);
        assign(1, 9);
        source.prepare(5);
        stage.say(fmt::format("size {}", source.batch_size()));
        assign(2, 8);  // once more
        source.take();
        source.prepare(6);
        stage.say(fmt::format("size {}", source.batch_size()));
        assign(3, 5);
        source.take();
        source.prepare(7);
        stage.say(fmt::format("size {}", source.batch_size()));
      });
  CHECK(lines == Lines{"size 6", "size 6", "size 5"});
}

TEST_CASE("batches: a sample's bytes are its features and outputs, or what the scenario says",
          "[roles][batches]") {
  const Lines lines = play(scenario("", "", delivered), [](Stage& stage, Sources&) {
    const std::vector<std::uint32_t> three{0, 7, 9};
    stage.say(fmt::format("{}", sample_bytes(stage.job(), three, 3)));
    stage.say(fmt::format("{}", sample_bytes(stage.job(), {}, 0)));
  });
  CHECK(lines == Lines{"72", "0"});  // 3 * (5 + 1) * 4
  const Lines given =
      play(scenario("", "", delivered + "bytes_per_sample = \"10B\"\n"),
           [](Stage& stage, Sources&) { stage.say(fmt::format("{}", sample_bytes(stage.job(), {}, 7))); });
  CHECK(given == Lines{"70"});
  const std::string teacher = "[data]\nsource = \"teacher\"\nsamples = 60\nfeatures = 5\n" + delivered +
                              "[model]\nlayers = [5, 3]\nloss = \"half-sse\"\n[training]\nbatch_size = "
                              "4\nsteps = 3\n[cluster]\nworkers = 3\n";
  const Lines outputs = play(teacher, [](Stage& stage, Sources&) {
    const std::vector<std::uint32_t> two{0, 7};
    stage.say(
        fmt::format("{} with {} outputs", sample_bytes(stage.job(), two, 2), stage.plan().data->outputs()));
  });
  CHECK(outputs == Lines{"64 with 3 outputs"});  // 2 * (5 + 3) * 4
}

TEST_CASE("batches: a report has the seconds of its own round", "[roles][batches]") {
  const std::string training = "work = \"dynamic\"\nwork_every = 2\n";
  const Lines lines = play(scenario(training), [](Stage& stage, Sources& sources) {
    BatchSource& source = sources.of[1];
    for (const std::int64_t step : {0, 1, 2, 3}) {
      source.prepare(step);
      source.take();
      source.computed(step < 2 ? 80.0 : 8.0);
      if (step == 1) source.on(Assign{.clock = 2, .batch_size = 4, .samples_before = 4});
    }
    stage.act(scheduler_node, [&stage] {
      for (int i = 0; i < 2; ++i) {
        const Message message = stage.job().network.receive(scheduler_node);
        stage.say(fmt::format("{} s a sample", *message.as<Report>()->seconds_per_sample));
      }
    });
    stage.run();
  });
  CHECK(lines == Lines{"20 s a sample", "2 s a sample"});
}
