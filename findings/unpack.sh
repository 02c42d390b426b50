# Read by the scripts of this folder. `unpack NAME=VERSION...` downloads these packages of Debian 12 (amd64) and unpacks
# them in the temporary folder $folder, which goes with the script. `program NAME [OPTION...]` compiles NAME.cpp, from
# standard input, with their headers and libraries. `expect COMMAND...` compares the output with standard input.
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
