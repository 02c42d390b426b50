// A worker's messages to and from the other workers, where there are no servers. Messages take a second.
#include <fmt/format.h>
#include <simgrid/s4u/Actor.hpp>

#include <array>
#include <memory>
#include <string>

#include "sim/nodes/peers/mailbox.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, workers 1, 2 and 3.
std::string quiet(const std::string& more = "") {
  return "[model]\nkind = \"phantom\"\nparameters = 10\n[training]\nsteps = 3\n[compute]\ntime = \"1s\"\n"
         "[architecture]\nkind = \"all-reduce\"\n[cluster]\nworkers = 3\n"
         "network = {latency = \"500ms\", bandwidth = \"10GBps\", share_spread = 0.0, simgrid_model = "
         "\"cm02\"}\n" +
         more;
}
std::string lossy(const std::string& workers, const std::string& more = "") {
  return quiet(
      "[recovery]\nenabled = true\nheartbeat = \"1s\"\ntimeout = \"40s\"\npatience = \"200s\"\n"
      "retry = \"3s\"\nbackoff = 2.0\nlongest_retry = \"8s\"\nworkers = \"" +
      workers + "\"\n" + more);
}

SharedView view(std::int64_t number) { return std::make_shared<const View>(View{.number = number}); }
Chunk chunk(std::int64_t clock, std::int64_t round, std::int64_t version = 0) {
  return {.clock = clock, .version = version, .round = round};
}

// The mailboxes of workers 1, 2 and 3, which hear what of theirs has arrived.
struct Boxes {
  Boxes(Stage& stage, bool tracks)
      : of{Mailbox{stage.job(), 1, tracks}, Mailbox{stage.job(), 2, tracks},
           Mailbox{stage.job(), 3, tracks}} {
    stage.job().network.on_arrival([this](const Message& message) {
      if (message.from > 0) of[message.from - 1].arrived(message);
    });
  }
  Mailbox& operator[](NodeId node) { return of[node - 1]; }
  std::array<Mailbox, 3> of;
};

Lines play(const std::string& toml, const std::function<void(Stage&, Boxes&)>& parts, bool tracks = true) {
  return on_stage(toml, [&](Stage& stage) {
    Boxes boxes(stage, tracks);
    parts(stage, boxes);
    stage.run();
  });
}

std::string version_of(const Message& message) {
  return fmt::format("version {} from {}", message.as<Chunk>()->version, message.from);
}

}  // namespace

TEST_CASE("mailbox: messages are taken as the algorithm wants them, in whatever order they come",
          "[roles][mailbox]") {
  const Lines lines = play(quiet(), [](Stage& stage, Boxes& boxes) {
    stage.act(1, [&] {
      boxes[1].send(3, chunk(1, 1, 11));
      boxes[1].send(3, chunk(1, 0, 10));
      boxes[1].send(3, chunk(0, 1, 1));
      boxes[1].send(3, Standing{.version = 8, .round = 1});
    });
    stage.act(2, [&] {
      stage.sleep(0.5);
      boxes[2].send(3, chunk(0, 1, 21));
    });
    stage.act(3, [&] {
      stage.say(version_of(boxes[3].take(MessageKind::chunk, 2, 0, 1)));
      stage.say(version_of(boxes[3].take(MessageKind::chunk, 1, 0, 1)));
      stage.say(
          fmt::format("standing {}", boxes[3].take_any(MessageKind::standing, 1).as<Standing>()->version));
      stage.say(version_of(boxes[3].take(MessageKind::chunk, 1, 1, 0)));
      stage.say(version_of(boxes[3].take(MessageKind::chunk, 1, 1, 1)));
      stage.say(boxes[3].wanted() ? "waits" : "waits for nothing");
    });
  });
  CHECK(lines == Lines{"1.5 version 21 from 2", "1.5 version 1 from 1", "1.5 standing 8",
                       "1.5 version 10 from 1", "1.5 version 11 from 1", "1.5 waits for nothing"});
}

TEST_CASE("mailbox: it says for whose message it waits", "[roles][mailbox]") {
  const Lines lines = play(quiet(), [](Stage& stage, Boxes& boxes) {
    stage.act(2, [&] { boxes[2].take(MessageKind::chunk, 3, 6, 4); });
    stage.act(3, [&] {
      stage.sleep(3);
      const Mailbox::Wanted& wanted = *boxes[2].wanted();
      stage.say(fmt::format("{} of {}, clock {}, {}", name_of(wanted.kind), wanted.from, *wanted.clock,
                            *wanted.number));
      boxes[3].send(2, chunk(6, 4));
    });
  });
  CHECK(lines == Lines{"3 chunk of 3, clock 6, 4"});
}

TEST_CASE("mailbox: who tracks waits until all that it sent is there", "[roles][mailbox]") {
  for (const bool tracks : {true, false}) {
    const Lines lines = play(
        quiet(),
        [](Stage& stage, Boxes& boxes) {
          stage.act(1, [&] {
            boxes[1].send(2, chunk(0, 0));
            stage.sleep(0.25);
            boxes[1].send(3, chunk(0, 0));
            boxes[1].flush();
            stage.say("all is there");
            boxes[1].flush();
            stage.say("nothing was sent since");
          });
        },
        tracks);
    CHECK(lines == (tracks ? Lines{"1.25 all is there", "1.25 nothing was sent since"}
                           : Lines{"0.25 all is there", "0.25 nothing was sent since"}));
  }
}

TEST_CASE("mailbox: what does not arrive is sent again until it does", "[roles][mailbox]") {
  const Lines lines = play(lossy("remove"), [](Stage& stage, Boxes& boxes) {
    stage.say_sent({MessageKind::chunk});
    stage.job().network.hold(2);
    stage.at(11, [&] { stage.job().network.hand_out(2); });
    stage.act(1, [&] {
      boxes[1].send(2, chunk(4, 7));
      boxes[1].send(3, chunk(4, 9));
      stage.sleep(1);
      boxes[1].send(2, chunk(4, 8));
      boxes[1].flush();
      stage.say("all is there");
    });
  });
  CHECK(lines == Lines{"0 chunk 1 > 2 #7", "0 chunk 1 > 3 #9", "1 chunk 1 > 2 #8", "3 chunk 1 > 2 #7",
                       "4 chunk 1 > 2 #8", "9 chunk 1 > 2 #7", "10 chunk 1 > 2 #8", "11 all is there"});
}

TEST_CASE("mailbox: a worker gives up after its last repetition", "[roles][mailbox]") {
  const Lines lines = play(lossy("wait", "retry_limit = 1\n"), [](Stage& stage, Boxes& boxes) {
    stage.job().network.hold(2);
    const auto actor = stage.act(1, [&] {
      boxes[1].send(2, chunk(4, 7));
      boxes[1].flush();
    });
    stage.at(10, [actor] { actor->kill(); });
  });
  CHECK(lines == Lines{"9 gives up 1"});
}

TEST_CASE("mailbox: what an older group said is dropped, and what a newer one says is kept",
          "[roles][mailbox]") {
  const Lines lines = play(lossy("remove"), [](Stage& stage, Boxes& boxes) {
    stage.act(1, [&] {
      boxes[1].join(view(5));
      boxes[1].send(3, chunk(0, 0, 5));  // before that of the older group
      boxes[1].join(view(4));
      boxes[1].send(2, chunk(0, 0, 4));
      boxes[1].send(3, chunk(0, 0, 4));
      boxes[1].join(view(5));
      boxes[1].send(2, chunk(0, 0, 5));
    });
    stage.act(2, [&] {
      stage.sleep(1.5);
      boxes[2].join(view(5));
      stage.say(version_of(boxes[2].take(MessageKind::chunk, 1, 0, 0)));
    });
    stage.act(3, [&] {
      boxes[3].join(view(4));
      stage.say(version_of(boxes[3].take(MessageKind::chunk, 1, 0, 0)));
      stage.sleep(2);
      boxes[3].look();
      boxes[3].join(view(5));
      stage.say(version_of(boxes[3].take(MessageKind::chunk, 1, 0, 0)));
    });
  });
  CHECK(lines == Lines{"1 version 4 from 1", "1.5 version 5 from 1", "3 version 5 from 1"});
}

TEST_CASE("mailbox: where the others wait for whoever is lost there is only one group", "[roles][mailbox]") {
  const Lines lines = play(lossy("wait"), [](Stage& stage, Boxes& boxes) {
    stage.act(1, [&] {
      boxes[1].join(view(4));
      boxes[1].send(2, chunk(0, 0, 4));
    });
    stage.act(2, [&] {
      boxes[2].join(view(9));
      stage.say(version_of(boxes[2].take(MessageKind::chunk, 1, 0, 0)));
      stage.say(fmt::format("view {}", boxes[2].view()));
    });
  });
  CHECK(lines == Lines{"1 version 4 from 1", "1 view 9"});
}

TEST_CASE("mailbox: who waits is told of a newer group, and of no other", "[roles][mailbox]") {
  for (const std::string workers : {"remove", "restart", "wait"}) {
    const Lines lines = play(lossy(workers), [](Stage& stage, Boxes& boxes) {
      stage.act(0, [&] {
        for (const std::int64_t number : {3, 4, 5})
          stage.job().network.send({.from = 0, .to = 2, .body = NewView{view(number)}});
      });
      stage.act(1, [&] {
        stage.sleep(3);
        boxes[1].join(view(4));
        boxes[1].send(2, chunk(0, 0, 7));
      });
      stage.act(2, [&] {
        boxes[2].join(view(4));
        try {
          stage.say(version_of(boxes[2].take(MessageKind::chunk, 1, 0, 0)));
        } catch (const NewGroup& group) {
          stage.say(fmt::format("group {}", group.view->number));
        }
        stage.say(fmt::format("view {}", boxes[2].view()));
      });
    });
    CHECK(lines ==
          (workers == "wait" ? Lines{"4 version 7 from 1", "4 view 5"} : Lines{"1 group 5", "1 view 5"}));
  }
}

TEST_CASE("mailbox: who waits for a group gets the next one", "[roles][mailbox]") {
  const Lines lines = play(lossy("restart"), [](Stage& stage, Boxes& boxes) {
    stage.act(0, [&] {
      stage.sleep(2);
      stage.say(boxes[3].awaits_group() ? "awaits a group" : "awaits none");
      stage.job().network.send({.from = 0, .to = 3, .body = NewView{view(1)}});
    });
    stage.act(3, [&] {
      try {
        boxes[3].await_group();
      } catch (const NewGroup& group) {
        boxes[3].join(group.view);
      }
      stage.say(boxes[3].awaits_group() ? "awaits a group" : "awaits none");
    });
  });
  CHECK(lines == Lines{"2 awaits a group", "3 awaits none"});
}

TEST_CASE("mailbox: a scheduler that asks is told the newest view, also while something else is waited for",
          "[roles][mailbox]") {
  const Lines lines = play(lossy("remove"), [](Stage& stage, Boxes& boxes) {
    stage.say_sent({MessageKind::view});
    stage.act(0, [&] { stage.job().network.send({.from = 0, .to = 2, .body = AskView{}}); });
    stage.act(1, [&] {
      stage.sleep(2);
      boxes[1].join(view(6));
      boxes[1].send(2, chunk(0, 0, 1));
    });
    stage.act(2, [&] {
      boxes[2].join(view(6));
      stage.say(version_of(boxes[2].take(MessageKind::chunk, 1, 0, 0)));
    });
  });
  CHECK(lines == Lines{"0 view 0 > 2", "1 view 2 > 0", "3 version 1 from 1"});
}

TEST_CASE("mailbox: samples and assignments go to who asked for them", "[roles][mailbox]") {
  const Lines lines = play(quiet(), [](Stage& stage, Boxes& boxes) {
    boxes[2].on_other([&](const Message& message) {
      stage.say(fmt::format("{} from {}", name_of(kind_of(message)), message.from));
    });
    stage.act(0, [&] { stage.job().network.send({.from = 0, .to = 2, .body = Assign{}}); });
    stage.act(1, [&] {
      stage.sleep(2);
      stage.job().network.send({.from = 1, .to = 2, .body = Samples{}});
      boxes[1].send(2, chunk(0, 0, 1));
    });
    stage.act(2, [&] { stage.say(version_of(boxes[2].take(MessageKind::chunk, 1, 0, 0))); });
  });
  CHECK(lines == Lines{"1 assign from 0", "3 samples from 1", "3 version 1 from 1"});
}

TEST_CASE("mailbox: a look takes what has come and waits for no more", "[roles][mailbox]") {
  const Lines lines = play(lossy("remove"), [](Stage& stage, Boxes& boxes) {
    stage.act(0, [&] {
      stage.sleep(4);
      stage.job().network.send({.from = 0, .to = 2, .body = NewView{view(1)}});
    });
    stage.act(2, [&] {
      boxes[2].look();
      stage.say("looked");
      stage.sleep(7);
      try {
        boxes[2].look();
      } catch (const NewGroup& group) {
        stage.say(fmt::format("group {}", group.view->number));
      }
    });
  });
  CHECK(lines == Lines{"0 looked", "7 group 1"});
}

TEST_CASE("mailbox: a crash makes it forget all that it knew and had", "[roles][mailbox]") {
  const Lines lines = play(lossy("remove"), [](Stage& stage, Boxes& boxes) {
    stage.say_sent({MessageKind::chunk});
    stage.act(2, [&] {
      boxes[2].join(view(6));
      boxes[2].keep({.from = 1, .to = 2, .epoch = 0, .body = chunk(0, 0, 1)});
      boxes[2].send(3, chunk(1, 0));
      boxes[2].clear();
      stage.say(fmt::format("view {}", boxes[2].view()));
      boxes[2].flush();
      stage.say("nothing is on its way");
      stage.say(version_of(boxes[2].take(MessageKind::chunk, 1, 0, 0)));
    });
    stage.act(1, [&] {
      stage.sleep(2);
      boxes[1].send(2, chunk(0, 0, 2));
    });
  });
  CHECK(lines == Lines{"0 chunk 2 > 3 #0", "0 view -1", "0 nothing is on its way", "2 chunk 1 > 2 #0",
                       "3 version 2 from 1"});
}

TEST_CASE("mailbox: a wait is recorded from its beginning, and while the worker computes nobody waits",
          "[roles][mailbox]") {
  for (const double computes_until : {0.0, 2.0, 9.0}) {
    const Lines lines = play(quiet(), [computes_until](Stage& stage, Boxes& boxes) {
      stage.act(1, [&] {
        stage.sleep(4);
        boxes[1].send(2, chunk(3, 0));
      });
      stage.act(2, [&] {
        stage.sleep(1);
        if (computes_until > 0) boxes[2].computes(true);
        stage.at(computes_until, [&] { boxes[2].computes(false); });
        boxes[2].take(MessageKind::chunk, 1, 3, 0);
        for (const Wait& wait : stage.recorded<Wait>())
          stage.say(fmt::format("since {} in clock {}", date(wait.since), wait.clock.value_or(-1)));
      });
    });
    if (computes_until == 0) CHECK(lines == Lines{"5 since 1 in clock 3"});
    if (computes_until == 2) CHECK(lines == Lines{"5 since 2 in clock 3"});
    if (computes_until == 9) CHECK(lines.empty());
  }
}
