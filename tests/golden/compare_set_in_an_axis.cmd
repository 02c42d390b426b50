cat >axes.toml <<'TOML'
[model]
kind = "phantom"
parameters = 100
[training]
steps = 1
[compute]
time = "1ms"
[compare]
consistency = [{ model = "bsp" }, { model = "ssp", staleness = 3 }]
"cluster.servers" = [1, 2]
TOML
psim compare axes.toml --set consistency.model=asp --markdown 2>&1 | grep '^|' | cut -d'|' -f2
psim compare axes.toml --set consistency.aggregation=sum --set cluster.servers=1 --markdown 2>&1 | grep '^|' | cut -d'|' -f2; rm -rf axes.toml studies
