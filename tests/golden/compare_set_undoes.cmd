cat >undone.toml <<'TOML'
[model]
kind = "phantom"
parameters = 100
[training]
steps = 1
[compute]
time = "1ms"
distribution = "lognormal"
cv = 0.2
[compare]
consistency = ["bsp", "asp"]
TOML
psim compare undone.toml --set compute.distribution=constant 2>&1 | sed -n '1,/^$/p'; rm -rf undone.toml studies
