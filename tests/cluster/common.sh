# For the tests here, which source it: $psim, $scratch (a folder that goes with the test), and words.
# A test that uses daemons defines end_daemons.
set -u
export LC_ALL=C.UTF-8
for variable in $(env | sed -n 's/^\(SLURM_[A-Z_]*\|SBATCH_[A-Z_]*\|PARALLEL[A-Z_]*\|PSIM_DATA\)=.*/\1/p'); do
  unset "$variable"
done

scratch=$(mktemp -d) || exit 3
chmod 755 "$scratch"
end_daemons() { :; }
clean_up() {
  end_daemons
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fail() {
  echo "FAILED: $*"
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

needs() {
  for program; do
    command -v "$program" >/dev/null || skip "$program is not installed (Debian: $package)"
  done
}

# expect CODE COMMAND...: its output goes to $scratch/said.
expect() {
  wanted=$1
  shift
  "$@" >"$scratch/said" 2>&1
  code=$?
  [ "$code" -eq "$wanted" ] || {
    cat "$scratch/said"
    fail "exit code $code, not $wanted: $*"
  }
}

# said TEXT: the last `expect` printed it.
said() {
  grep -qF -- "$1" "$scratch/said" || {
    cat "$scratch/said"
    fail "this does not say \"$1\""
  }
}

# until_true SECONDS COMMAND...
until_true() {
  left=$(($1 * 10))
  shift
  until "$@"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "this did not become true: $*"
    sleep 0.1
  done
}

# same FOLDER FOLDER: byte for byte.
same() {
  diff -r "$1" "$2" || fail "$1 and $2 differ"
}

# stragglers.toml with runs that are long enough to be killed, in a folder whose name asks for quotes.
awkward() {
  folder="$scratch/it's 100 % {}{#}{1} gr\$oß"
  mkdir -p "$folder/my scenarios"
  scenario="$folder/my scenarios/one slow worker.toml"
  sed 's/^epochs = .*/epochs = 30/; s/^target = .*//; s/^batch_size = .*/batch_size = 4/' \
    "$scenarios/stragglers.toml" >"$scenario"
}
