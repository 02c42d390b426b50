#!/bin/sh
# aarch64.sh PSIM FOLDER: psim for 64-bit ARM, compiled on this machine and run under qemu-aarch64. Builds psim and its
# unit tests in FOLDER and runs the tests. Compares a dozen scenarios with those of PSIM, which is of this machine
# (results.sh, compare.sh), and counts how many shipped scenarios have their recorded digest (digests.sh).
# The compiler's root has the packages of packages.txt for arm64 and what they depend on, unpacked, not installed. It
# stays in the system's temporary folder, one for each state of packages.txt; PSIM_ARM_ROOT=FOLDER keeps it somewhere
# else. Needs no root rights. Packages come from PSIM_MIRROR, else from where this machine's apt has Debian's.
# Exit code 77: cannot run here.
set -eu
export LC_ALL=C
[ $# = 2 ] || { echo "usage: aarch64.sh PSIM FOLDER" >&2; exit 2; }

source=$(cd "$(dirname "$0")/../.." && pwd)
native=$(realpath "$1")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
skip() { echo "skipped: $*"; exit 77; }
for program in aarch64-linux-gnu-g++ qemu-aarch64 cmake ninja pkg-config apt-get dpkg-deb hb-subset; do
  command -v $program >/dev/null || skip "$program is not installed (apt-get install g++-aarch64-linux-gnu qemu-user)"
done

begin=$(date +%s)
took() { echo "$* after $(($(date +%s) - begin)) s"; }

# sources: the lines of sources.list for arm64.
sources() {
  if [ -n "${PSIM_MIRROR:-}" ]; then
    echo "deb $PSIM_MIRROR $(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release) main"
  else
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian'
  fi
}

# make_root FOLDER: an apt of its own, which knows only arm64 and has nothing installed, finds and fetches the packages.
make_root() {
  apt=$1/apt
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$1/usr/bin" "$1/usr/sbin" "$1/usr/lib"
  sources >"$apt/sources.list"
  [ -s "$apt/sources.list" ] || skip "apt names no Debian mirror; set PSIM_MIRROR"
  : >"$apt/status"
  cat >"$apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
APT::Update::Error-Mode "any";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
END
  wanted=$(grep -vxE '#.*|cmake|g\+\+|ninja-build|pkg-config|libharfbuzz-bin' "$source/packages.txt")
  { APT_CONFIG=$apt/apt.conf apt-get update && APT_CONFIG=$apt/apt.conf apt-get install -y --download-only $wanted; } \
    >"$root.log" 2>&1 || { tail -n 20 "$root.log"; skip "apt cannot fetch the packages for arm64"; }
  for name in bin sbin lib; do ln -s usr/$name "$1/$name"; done  # libraries of /lib and /usr/lib in one folder
  for package in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$1" --keep-directory-symlink
  done
  rm -rf "$apt" "$root.log"
  # Absolute links and names of files mean those of the root, not of this machine.
  find "$1" -type l -lname '/*' -exec sh -c 'ln -sfnr "$1$(readlink "$2")" "$2"' - "$1" {} \;
  find "$1/usr/lib" "$1/usr/share" -path '*/cmake/*.cmake' -exec sed -i 's|"/usr\([/"]\)|"${CMAKE_SYSROOT}/usr\1|g' {} +
}

packages=$(sha256sum "$source/packages.txt" | cut -c 1-12)
root=${PSIM_ARM_ROOT:-${TMPDIR:-/tmp}/psim-aarch64-$packages}
mkdir -p "${root%/*}"
exec 9>"$root.lock"
flock 9  # one at a time
if [ ! -d "$root/usr" ]; then  # made under another name, so that a root that was cut short is never used
  rm -rf --one-file-system "$root.new"
  make_root "$root.new"
  mv "$root.new" "$root"
  took "a root for the compiler in $root"
fi

export PSIM_SYSROOT="$root"
launcher=$(command -v ccache || true)
cmake -S "$source" -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$source/tests/platforms/aarch64.cmake" \
  -DCMAKE_BUILD_TYPE=Release -DPSIM_UNITY=ON -DPSIM_WERROR=ON ${launcher:+-DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"} \
  >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; exit 1; }
ninja -C "$folder" psim-further psim_unit >"$folder/build.log" 2>&1 || { tail -n 50 "$folder/build.log"; exit 1; }
took "built"

# The tests start psim, too, so its name belongs to a program that the kernel can run.
if head -c 4 "$folder/psim" | grep -q ELF; then mv "$folder/psim" "$folder/psim-aarch64"; fi
cat >"$folder/psim" <<END
#!/bin/sh
exec qemu-aarch64 -L '$root' '$folder/psim-aarch64' "\$@"
END
chmod +x "$folder/psim"
"$folder/psim" --version

sh "$source/tests/platforms/results.sh" "$folder/psim" >"$folder/aarch64.txt"
sh "$source/tests/platforms/results.sh" "$native" >"$folder/native.txt"
cat "$folder/aarch64.txt"
sh "$source/tests/platforms/compare.sh" "$folder/aarch64.txt" "$folder/native.txt" || worse=1
took "a dozen scenarios"
sh "$source/tests/platforms/digests.sh" "$folder/psim" || worse=1
took "the shipped scenarios"

ctest --test-dir "$folder" -R '^unit:' -LE 'slow|long' -j "$(nproc)" --output-on-failure >"$folder/tests.log" 2>&1 || {
  sed -n '/The following tests FAILED/,$p' "$folder/tests.log"
  worse=1
}
sed -n '/tests passed/p' "$folder/tests.log"
took "unit tests"
exit ${worse:-0}
