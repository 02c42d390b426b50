# Read by the scripts of this folder. `unpack NAME=VERSION...` downloads these packages of Debian 12 (amd64) and unpacks
# them in the temporary folder $folder, which goes with the script. `program NAME [OPTION...]` compiles NAME.cpp, from
# standard input, with their headers and libraries. `unpack_with_all NAME=VERSION...` does the same with all packages that
# they depend on and that this machine lacks. `expect COMMAND...` compares the output with standard input.
folder=$(mktemp -d) || exit 3
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
libraries=$folder/usr/lib/x86_64-linux-gnu
export LC_ALL=C LD_LIBRARY_PATH="$libraries"

unpack() {
  (cd "$folder" && apt-get -qq download "$@" 2>"$folder/log" && for file in *.deb; do dpkg -x "$file" . || exit 1; done) ||
    { cat "$folder/log" >&2; echo "this finding needs the packages of Debian 12: $*" >&2; exit 3; }
}

unpack_with_all() {
  mkdir -p "$folder/cache/archives/partial"
  (cd "$folder" && apt-get -qq install -y --no-install-recommends --download-only -o Debug::NoLocking=1 \
    -o Dir::Cache="$folder/cache" "$@" >"$folder/log" 2>&1 &&
    for file in cache/archives/*.deb; do dpkg -x "$file" . || exit 1; done) ||
    { cat "$folder/log" >&2; echo "this finding needs the packages of Debian 12: $*" >&2; exit 3; }
  export LD_LIBRARY_PATH="$libraries:$folder/lib/x86_64-linux-gnu:$libraries/blas:$libraries/lapack:$folder/usr/lib"
}

program() {
  name=$1
  shift
  cat >"$folder/$name.cpp"
  g++ -std=c++17 -O2 -isystem "$folder/usr/include" "$folder/$name.cpp" -o "$folder/$name" -L"$libraries" "$@" || exit 3
}

expect() {
  cat >"$folder/expected"
  "$@" >"$folder/seen" 2>&1
  diff -u "$folder/expected" "$folder/seen" || { echo "it behaves otherwise now: $*" >&2; exit 1; }
}
