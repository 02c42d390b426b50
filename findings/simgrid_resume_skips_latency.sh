#!/bin/sh
# SimGrid 3.32: a communication that is suspended during its latency and resumed at once arrives earlier than one that
# is left alone: resume() starts the transfer of its bytes immediately, and the rest of the latency never passes. Here the
# latency is 1 s (a link of 1e8 B/s; 1e6 bytes), and the message is suspended and resumed at 0.5 s: it is half a second
# early. After the latency, at 1.005 s, a resume changes nothing.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack libsimgrid-dev=3.32-2+b2 libsimgrid3.32=3.32-2+b2 libboost-context1.74.0=1.74.0+ds1-21 \
  libboost-stacktrace1.74.0=1.74.0+ds1-21 libns3.37=3.37-2 libboost1.74-dev=1.74.0+ds1-21
program resume -lsimgrid -Wl,--allow-shlib-undefined <<'CPP'
#include <simgrid/s4u.hpp>
#include <cstdio>
#include <cstdlib>
namespace s4u = simgrid::s4u;
int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/TCP-gamma:1e12");
  auto* zone = s4u::create_full_zone("zone");
  auto* a = zone->create_host("a", 1e9)->seal();
  auto* b = zone->create_host("b", 1e9)->seal();
  auto* link = zone->create_link("link", 1e8)->set_latency(1)->seal();
  zone->add_route(a->get_netpoint(), b->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(link)}, true);
  zone->seal();
  const double pause = std::atof(argv[1]);
  s4u::Actor::create("sender", a, [=] {
    auto message = s4u::Comm::sendto_async(a, b, 1e6);
    if (pause > 0) {
      s4u::this_actor::sleep_for(pause);
      message->suspend();
      message->resume();
    }
    message->wait();
    std::printf("%.3f\n", s4u::Engine::get_clock());
  });
  engine.run();
}
CPP
quiet=--log=root.thresh:critical
expect "$folder/resume" 0 $quiet <<'OUT'
1.010
OUT
expect "$folder/resume" 0.5 $quiet <<'OUT'
0.510
OUT
expect "$folder/resume" 1.005 $quiet <<'OUT'
1.010
OUT
