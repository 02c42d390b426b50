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
sed -n '/time to target/,/^$/p; /^`>=`/p' said
grep 'note' said
psim compare small.toml --set training.target.accuracy=0.01 >/dev/null
echo "exit $?"
rm -rf small.toml studies said
