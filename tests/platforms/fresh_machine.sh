#!/bin/sh
# fresh_machine.sh RELEASE RESULTS [--test]: the README's first command and a dozen scenarios on a bare Debian RELEASE
# (bookworm, trixie), with --test its tests, too. Builds a clone of this repository with that release's compiler and
# libraries, and writes to RESULTS the final weights' hash and the simulated time of the bulk-synchronous runs, a line
# each. Also compares the digests of the shipped scenarios with the recorded ones (digests.sh).
# The root has only what debootstrap's smallest variant and ./psim install. It stays in the system's temporary folder,
# one for each state of packages.txt; PSIM_FRESH_ROOT=FOLDER keeps it somewhere else.
# Needs root, debootstrap and a mirror: PSIM_MIRROR, else that of this machine's apt. Exit code 77: cannot run here.
set -eu
export LC_ALL=C

source=$(cd "$(dirname "$0")/../.." && pwd)
skip() { echo "skipped: $*"; exit 77; }

if [ "${1:-}" != --inside ]; then
  [ $# -ge 2 ] || { echo "usage: fresh_machine.sh RELEASE RESULTS [--test]" >&2; exit 2; }
  [ "$(id -u)" = 0 ] || skip "a new root needs root"
  command -v debootstrap >/dev/null || skip "debootstrap is not installed"
  command -v git >/dev/null || skip "git is not installed"
  git -C "$source" rev-parse HEAD >/dev/null 2>&1 || skip "not a clone: nothing to clone from"
  unshare --mount true 2>/dev/null || skip "may not mount"
  mirror=${PSIM_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)}
  [ -n "$mirror" ] || skip "apt names no Debian mirror; set PSIM_MIRROR"
  # A mount namespace of its own: whatever is mounted below goes with it, however this ends.
  exec unshare --mount --propagation private sh "$0" --inside "$mirror" "$@"
fi
mirror=$2 release=$3 results=$4 test=${5:-}

packages=$(sha256sum "$source/packages.txt" | cut -c 1-12)
root=${PSIM_FRESH_ROOT:-${TMPDIR:-/tmp}/psim-$release-$packages}
mkdir -p "${root%/*}"
exec 9>"$root.lock"
flock 9  # one at a time

# Made under another name, so that a root that was cut short is never used.
if [ ! -x "$root/bin/sh" ]; then
  echo "a bare $release in $root"
  rmdir "$root" 2>/dev/null || [ ! -e "$root" ] || { echo "$root has files, and is no root of Debian" >&2; exit 2; }
  rm -rf --one-file-system "$root.new"
  debootstrap --variant=minbase --include=ca-certificates "$release" "$root.new" "$mirror" >"$root.log" 2>&1 || {
    tail -n 20 "$root.log"
    skip "debootstrap cannot make a root of $release"
  }
  mv "$root.new" "$root"
  rm -f "$root.log"
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
apt-config dump | grep '^Acquire::.*\(Proxy\|Check-\)' >"$root/etc/apt/apt.conf.d/90this-machine" || true

rm -rf --one-file-system "$root/psim"
git clone -q "$source" "$root/psim"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
  PSIM_CMAKE_ARGS="-DPSIM_WERROR=ON" sh -c "cd /psim && $*"; }
begin=$(date +%s)
inside ./psim compare scenarios/stragglers.toml
echo "$release: the first table after $(($(date +%s) - begin)) s"
if [ "$test" = --test ]; then inside ./psim test; fi

inside sh tests/platforms/digests.sh build/release/psim
inside sh tests/platforms/results.sh ./psim >"$results.new"
mv "$results.new" "$results"
cat "$results"
