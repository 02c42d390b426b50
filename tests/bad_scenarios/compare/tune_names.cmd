tune() {
  {
    echo '[model]
layers = [64, 32, 10]
[data]
source = "digits"
validation_fraction = 0.2
[training]
epochs = 1'
    cat
  } >tuned.toml
  psim compare tuned.toml --count
}
code=0
while IFS= read -r line; do
  echo "== $line"
  printf '[tune]\nseeds = [1001]\n%s\n[compare]\nseeds = [1, 2]\n' "$line" | tr '|' '\n' | tune || code=$?
done <<'LINES'
"seed" = [7, 8]
"compare" = [0.1, 0.2]
"tune.method" = ["grid"]
"training.learning_rate" = [0.1, 0.1]
"training.learning_rate" = { from = 1.0, to = 1.0000001, points = 5 }
"training.learning_rate" = [0.1]|"training" = [{ learning_rate = 0.2 }]
LINES
echo '[tune]
"training.learning_rate" = [5.0]
[compare]
"training" = [{ learning_rate = 0.3 }, { learning_rate = 0.4 }]' | tune || code=$?
echo '[compare]
"tune.method" = ["grid", "random"]' | tune || code=$?
rm tuned.toml
exit $code
