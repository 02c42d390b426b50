#!/bin/sh
# Fetches Fashion-MNIST from the data set's own site and checks it against the MD5 sums that its README
# gives (https://github.com/zalandoresearch/fashion-mnist).
set -eu

site=http://fashion-mnist.s3-website.eu-central-1.amazonaws.com

usage() {
  cat <<USAGE
usage: fetch_fashion_mnist.sh DIR

Puts the four files of Fashion-MNIST (31 MB) in DIR/fashion-mnist. Correct existing files stay
unchanged. Afterwards run psim with --data-dir DIR, or set PSIM_DATA=DIR.
USAGE
}

fail() {
  echo "fetch_fashion_mnist.sh: error: $*" >&2
  exit 1
}

md5_of() {
  if command -v md5sum >/dev/null 2>&1; then
    md5sum <"$1" | cut -d ' ' -f 1
  elif command -v md5 >/dev/null 2>&1; then
    md5 -q "$1"
  else
    openssl md5 -r <"$1" | cut -d ' ' -f 1
  fi
}

download() {  # download URL FILE
  if command -v curl >/dev/null 2>&1; then
    curl --fail --location --silent --show-error --connect-timeout 20 --output "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget --no-verbose --timeout=20 --tries=2 --output-document="$2" "$1"
  else
    fail "neither curl nor wget is installed"
  fi
}

fetch() {  # fetch NAME MD5
  file=$folder/$1
  if [ -f "$file" ] && [ "$(md5_of "$file")" = "$2" ]; then
    echo "$file: already there"
    return
  fi
  # Only a complete and correct file gets its own name, so an interrupted download leaves no wrong file.
  part=$file.part
  download "$site/$1" "$part" || fail "cannot fetch $site/$1"
  got=$(md5_of "$part")
  [ "$got" = "$2" ] || fail "$site/$1 has the MD5 sum $got instead of $2; nothing was kept of it"
  mv "$part" "$file"
  part=
  echo "$file: fetched"
}

case "${1-}" in
  -h | --help) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
[ $# -eq 1 ] || { usage >&2; exit 2; }
command -v md5sum >/dev/null 2>&1 || command -v md5 >/dev/null 2>&1 ||
  command -v openssl >/dev/null 2>&1 || fail "no md5sum, md5 or openssl to check the files with"

folder=$1/fashion-mnist
part=
trap '[ -z "$part" ] || rm -f "$part"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$folder" || fail "cannot make the folder $folder"

fetch train-images-idx3-ubyte.gz 8d4fb7e6c68d591d4c3dfef9ec88bf0d
fetch train-labels-idx1-ubyte.gz 25c81989df183df01b3e8a0aad5dffbe
fetch t10k-images-idx3-ubyte.gz bef4ecab320f06d8554ea6380940ec79
fetch t10k-labels-idx1-ubyte.gz bb300cfdad3c16e7a12a480ee83cd310
echo "Fashion-MNIST is complete: psim --data-dir $1, or PSIM_DATA=$1"
