#!/bin/sh
# SimGrid 3.32 and glibc 2.36: without guard pages (contexts/guard-size:0) an actor that has not run yet takes 12 KiB,
# but from about the 65,536th on 136 KiB, whatever the size of the stacks. SimGrid allocates these stacks with calloc().
# glibc maps each one alone, and mapped pages cost nothing before they are used; but it does so at most 65,536 times
# (M_MMAP_MAX). Further stacks come from the heap. There calloc() writes zeros into the memory that glibc has fetched
# ahead (M_TOP_PAD, 128 KiB): a program that lets it fetch 16 MiB ahead pays for whole stacks. mallopt(M_MMAP_MAX, ...)
# mends it. The program prints the resident memory of an actor among the first 64,000 and among 1,000 later ones.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack libsimgrid-dev=3.32-2+b2 libsimgrid3.32=3.32-2+b2 libboost-context1.74.0=1.74.0+ds1-21 \
  libboost-stacktrace1.74.0=1.74.0+ds1-21 libns3.37=3.37-2 libboost1.74-dev=1.74.0+ds1-21
program stacks -lsimgrid -Wl,--allow-shlib-undefined <<'CPP'
#include <malloc.h>
#include <unistd.h>
#include <simgrid/s4u.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
namespace s4u = simgrid::s4u;
long resident() {  // KiB
  long all = 0, pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}
void begin(s4u::Host* host, int actors, const char* which) {
  const long before = resident();
  for (int i = 0; i < actors; ++i) s4u::Actor::create("actor", host, [] { s4u::this_actor::sleep_for(1); });
  const long each = (resident() - before) / actors;
  std::printf("%s: %s\n", which, each >= 128 ? "more than 128 KiB" : each < 32 ? "a few pages" : "neither");
}
int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  auto* zone = s4u::create_full_zone("zone");
  auto* host = zone->create_host("host", 1e9)->seal();
  zone->seal();
  if (argc > 1 && std::strcmp(argv[1], "more") == 0) mallopt(M_MMAP_MAX, 1'000'000);
  begin(host, 64000, "the first actors");
  begin(host, 3000, "both");
  begin(host, 1000, "the last actors");
  std::fflush(stdout);
  std::_Exit(0);
}
CPP
run_of() { "$folder/stacks" "$@" --cfg=contexts/guard-size:0 --log=root.thresh:critical | grep actors; }
expect run_of once <<'OUT'
the first actors: a few pages
the last actors: more than 128 KiB
OUT
expect run_of more <<'OUT'
the first actors: a few pages
the last actors: a few pages
OUT
