#!/bin/sh
# SimGrid 3.32: an actor that is killed before it has run still runs, until its first wait. Here a timer starts an actor
# and kills it at once. The actor begins all the same: it prints its first line, and the kill strikes when it sleeps. It
# then stays in the engine's books: when all others have ended, SimGrid reports a deadlock. Without a wait the actor runs
# to its end, and kill() has no effect at all.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack libsimgrid-dev=3.32-2+b2 libsimgrid3.32=3.32-2+b2 libboost-context1.74.0=1.74.0+ds1-21 \
  libboost-stacktrace1.74.0=1.74.0+ds1-21 libns3.37=3.37-2 libboost1.74-dev=1.74.0+ds1-21
program killed -lsimgrid -Wl,--allow-shlib-undefined <<'CPP'
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <cstdio>
#include <cstring>
namespace s4u = simgrid::s4u;
int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  auto* zone = s4u::create_full_zone("zone");
  auto* host = zone->create_host("host", 1e9)->seal();
  zone->seal();
  const bool waits = std::strcmp(argv[1], "waits") == 0;
  s4u::Actor::create("keeper", host, [] { s4u::this_actor::sleep_for(3); });
  simgrid::kernel::timer::Timer::set(1, [=] {
    auto other = s4u::Actor::create("other", host, [=] {
      std::printf("begins at %g\n", s4u::Engine::get_clock());
      if (waits) s4u::this_actor::sleep_for(1);
      std::printf("ends at %g\n", s4u::Engine::get_clock());
    });
    other->kill();
    std::printf("killed at %g\n", s4u::Engine::get_clock());
  });
  engine.run();
}
CPP
quiet=--log=root.thresh:critical
expect sh -c '"$0" waits "$1" 2>&1 | sed "s/.*Deadlock detected.*/SimGrid reports a deadlock/"' "$folder/killed" $quiet <<'OUT'
SimGrid reports a deadlock
killed at 1
begins at 1
OUT
expect "$folder/killed" works $quiet <<'OUT'
killed at 1
begins at 1
ends at 1
OUT
