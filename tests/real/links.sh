#!/bin/sh
# What TCP connections of a real parameter server get of shaped links, one line per configuration:
#   sh tests/real/links.sh [RATE] [CONGESTION_CONTROL] [LOGS]     400mbit and cubic
# LOGS is a folder for the steps of 4 workers and 2 servers with 4 MB under bsp and asp, 300 of each, as psim calibrate
# reads them; then nothing else is measured.
# Needs root, ip and tc with htb. Every node is a network namespace psim0, psim1, ... behind a bridge, with both
# directions of its link shaped; nothing outside of them is touched, and they are gone afterwards.
set -eu
rate=${1:-400mbit} congestion=${2:-cubic} logs=${3:-}
nodes=12
skip() {
  echo "skipped: $1"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "only root may make network namespaces"
command -v ip >/dev/null && command -v tc >/dev/null || skip "ip and tc are needed (Debian: iproute2)"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
clean() {
  for i in $(seq 0 $((nodes - 1))); do ip netns del psim$i 2>/dev/null || true; done
  ip netns del psimswitch 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM
ip netns add psimswitch 2>/dev/null || skip "this machine lets nobody make network namespaces"
shape() {
  tc -n "$1" qdisc add dev "$2" root handle 1: htb default 1 2>/dev/null || skip "this kernel has no htb"
  tc -n "$1" class add dev "$2" parent 1: classid 1:1 htb rate "$rate" burst 32kb quantum 60000
}
ip -n psimswitch link add bridge0 type bridge
ip -n psimswitch link set bridge0 up
for i in $(seq 0 $((nodes - 1))); do
  ip netns add psim$i
  ip link add eth0 netns psim$i type veth peer name port$i netns psimswitch
  ip -n psimswitch link set port$i master bridge0
  ip -n psimswitch link set port$i up
  ip -n psim$i addr add 10.77.0.$((i + 1))/24 dev eth0
  ip -n psim$i link set eth0 up
  shape psim$i eth0
  shape psimswitch port$i
done
g++ -std=c++20 -O2 -pthread "$here/parameter_server.cpp" -o "$work/parameter_server"
if [ -n "$logs" ]; then
  for model in bsp asp; do
    "$work/parameter_server" 4 2 $model 4000000 300 "$congestion" "$logs/$model.csv"
  done
  exit 0
fi
for bytes in 500000 4000000; do
  for shape in "1 1" "2 1" "4 1" "8 1" "2 3" "4 3" "8 3" "4 4"; do
    for model in bsp asp; do
      # shellcheck disable=SC2086
      "$work/parameter_server" $shape $model $bytes $((bytes == 500000 ? 60 : 14)) "$congestion"
    done
  done
done
