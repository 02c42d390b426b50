#!/bin/sh
# schema.sh CASES PSIM SCHEMA: validators of JSON Schema, and of TOML by it, agree with psim on values of all fields. CASES is
# the program that writes them. Needs node, and ajv and taplo from npm; PSIM_NODE_MODULES=FOLDER has them already.
# Exit code 77: cannot run here.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
skip() { echo "skipped: $*"; exit 77; }
command -v node >/dev/null || skip "node is not installed (Debian: nodejs)"
modules=${PSIM_NODE_MODULES:-$folder/modules}
if [ ! -d "$modules/node_modules/ajv" ]; then
  command -v npm >/dev/null || skip "npm is not installed (Debian: npm)"
  mkdir -p "$modules"
  (cd "$modules" && npm install --no-audit --no-fund --silent ajv@8.17.1 @taplo/cli@0.7.0 >/dev/null 2>&1) ||
    skip "npm cannot install ajv and @taplo/cli here"
fi
mkdir "$folder/cases"
"$1" "$folder/cases"
node "$(dirname "$0")/schema.js" "$folder/cases" "$3" "$modules" "$2"
