#!/bin/sh
# Plays every story that comes with psim: story.sh PSIM SOURCE PICTURES.
set -eu
psim=$1 source=$2 pictures=$3
command -v python3 >/dev/null || { echo "skipped: there is no python3 here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for story in "$source"/docs/stories/*.toml; do
  "$psim" show --story "$(basename "$story" .toml)" >out
done
mkdir -p "$pictures"
python3 -B "$source/tests/page/story_test.py" "$pictures" ./*.html
