#!/bin/sh
# SimGrid 3.32: simgrid_update_xml turns a platform file of version 3 into one that calls itself version 4.1, but writes
# no units behind its numbers, although units are one of the changes from 3 to 4 that SimGrid's own message lists ("speed,
# bandwidth and latency attributes now MUST have an explicit unit"). SimGrid reads the new file and warns of each number.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack libsimgrid-dev=3.32-2+b2 libsimgrid3.32=3.32-2+b2 libboost-context1.74.0=1.74.0+ds1-21 \
  libboost-stacktrace1.74.0=1.74.0+ds1-21 libns3.37=3.37-2 libboost1.74-dev=1.74.0+ds1-21
cat >"$folder/platform.xml" <<'XML'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "http://simgrid.gforge.inria.fr/simgrid.dtd">
<platform version="3">
  <AS id="z" routing="Full">
    <host id="a" power="1000000000"/>
    <host id="b" power="1000000000"/>
    <link id="l" bandwidth="125000000" latency="0.00005"/>
    <route src="a" dst="b"><link_ctn id="l"/></route>
  </AS>
</platform>
XML
program load -lsimgrid -Wl,--allow-shlib-undefined <<'CPP'
#include <simgrid/s4u.hpp>
#include <cstdio>
int main(int argc, char** argv) {
  simgrid::s4u::Engine engine(&argc, argv);
  try {
    engine.load_platform(argv[1]);
    std::printf("%g\n", engine.host_by_name("a")->get_speed());
  } catch (const std::exception& error) {
    std::printf("refused: %s\n", error.what());
  }
}
CPP
cd "$folder"
log="--log=root.fmt:%p:%m%n"
perl usr/bin/simgrid_update_xml platform.xml >log 2>&1
expect grep -E '<platform|host|link ' platform.xml <<'OUT'
<platform version="4.1">
    <host id="a" speed="1000000000"/>
    <host id="b" speed="1000000000"/>
    <link id="l" bandwidth="125000000" latency="0.00005"/>
OUT
expect sh -c "./load platform.xml '$log' 2>&1 | sed 's/\. .*/./'" <<'OUT'
WARNING:Deprecated unit-less value '1000000000' for speed of host a.
WARNING:Deprecated unit-less value '1000000000' for speed of host b.
WARNING:Deprecated unit-less value '125000000' for bandwidth of link l.
WARNING:Deprecated unit-less value '0.00005' for latency of link l.
1e+09
OUT
