cat >small.toml <<'END'
[model]
layers = [64, 10]
[training]
steps = 2
target = { accuracy = 0.999 }
[cluster]
workers = 1
[compute]
time = "1ms"
END
psim compare small.toml --seeds 1,2 >said
echo "exit $?"
grep -E 'reached' said | cut -d'|' -f1-4
grep 'note' said
psim compare small.toml --set training.target.accuracy=0.01 >/dev/null
echo "exit $?"
rm -rf small.toml runs said
