#!/bin/sh
# fresh_machine.sh RELEASE RESULTS: the README's two commands on a bare Debian RELEASE (bookworm, trixie).
# Makes the smallest root that debootstrap can, clones this repository into it, runs the commands there, and writes
# to RESULTS the final weights' hash and the simulated time of some bulk-synchronous runs, a line each.
# Needs root, debootstrap and a mirror: PSIM_MIRROR, else that of this machine's apt. Exit code 77: cannot run here.
# PSIM_FRESH_ROOT=FOLDER keeps the root there, for a second look; by default it goes.
set -eu
export LC_ALL=C

source=$(cd "$(dirname "$0")/../.." && pwd)
skip() { echo "skipped: $*"; exit 77; }

if [ "${1:-}" != --inside ]; then
  [ $# -eq 2 ] || { echo "usage: fresh_machine.sh RELEASE RESULTS" >&2; exit 2; }
  [ "$(id -u)" = 0 ] || skip "a new root needs root"
  command -v debootstrap >/dev/null || skip "debootstrap is not installed"
  command -v git >/dev/null || skip "git is not installed"
  git -C "$source" rev-parse HEAD >/dev/null 2>&1 || skip "not a clone: nothing to clone from"
  unshare --mount true 2>/dev/null || skip "may not mount"
  mirror=${PSIM_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)}
  [ -n "$mirror" ] || skip "apt names no Debian mirror; set PSIM_MIRROR"
  # A mount namespace of its own: whatever is mounted below goes with it, however this ends.
  exec unshare --mount --propagation private sh "$0" --inside "$1" "$2" "$mirror"
fi
release=$2 results=$3 mirror=$4

if [ -n "${PSIM_FRESH_ROOT:-}" ]; then
  root=$PSIM_FRESH_ROOT
  mkdir -p "$root"
else
  root=$(mktemp -d "${TMPDIR:-/var/tmp}/psim-fresh.XXXXXX")
  trap 'umount -R "$root/proc" "$root/dev" 2>/dev/null; rm -rf --one-file-system "$root"' EXIT
  trap 'exit 130' INT TERM
fi

if [ ! -x "$root/bin/sh" ]; then
  echo "a bare $release in $root"
  log=$(mktemp)
  debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" >"$log" 2>&1 || {
    tail -n 20 "$log"
    rm -f "$log"
    exit 1
  }
  rm -f "$log"
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
apt-config dump | grep '^Acquire::.*\(Proxy\|Check-\)' >"$root/etc/apt/apt.conf.d/90this-machine" || true

rm -rf "$root/psim"
git clone -q "$source" "$root/psim"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
  PSIM_CMAKE_ARGS="-DPSIM_WERROR=ON -DPSIM_ARCH=${PSIM_ARCH:-x86-64-v2}" sh -c "cd /psim && $*"; }
begin=$(date +%s)
inside ./psim compare scenarios/stragglers.toml
echo "$release: the first table after $(($(date +%s) - begin)) s"
inside ./psim test

: >"$results"
for scenario in worked_example quickstart stragglers clicks bandwidth topologies two_jobs; do
  inside ./psim run scenarios/$scenario.toml --set consistency.model=bsp --json >"$root/psim/summary.json"
  weights=$(sed -n 's/^ *"weights": "\([0-9a-f]*\)".*/\1/p' "$root/psim/summary.json" | tail -n 1)
  seconds=$(sed -n 's/^  "sim_time_s": \([^,]*\),*/\1/p' "$root/psim/summary.json" | head -n 1)
  echo "$scenario ${weights:-none} $seconds" | tee -a "$results"
done
