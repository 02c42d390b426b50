# Keys of tens of thousands of parts, in a file, a header, an inline table and --set.
long=$(printf '.a%.0s' $(seq 35000))
base=scenarios/quickstart.toml
deep() {
  (cat "$base"; printf '\n%s\n' "$1") >deep.toml
  psim check deep.toml
  echo "exit $?" >&2
  rm deep.toml
}
deep "a$long = 1"
deep "[a$long]"
deep "a = { a$long = 1 }"
deep "a = $(printf '{ a.a = %.0s' $(seq 70))"
psim check "$base" --set "a$long=1"
