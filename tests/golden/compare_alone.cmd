cat >small.toml <<'END'
[model]
kind = "phantom"
parameters = 1000
[training]
steps = 5
[cluster]
workers = 2
[compute]
time = "1ms"

END
psim compare small.toml | sed '/^[0-9]* runs*/,$d; 1d'
rm -rf small.toml studies
