cat >axes.toml <<'END'
[model]
kind = "phantom"
parameters = 100
[training]
steps = 1
[compare]
filter = [[], [{ kind = "top-k", fraction = 0.1 }], [{ kind = "fp16" }, { kind = "key-caching", on = "pull" }]]
"messages.keys" = ["per-value"]
snapshot = [{}]
"compute.time" = ["1ms"]
"cluster.network.share_spread" = [0.3, 1.0]
END
psim compare axes.toml --markdown 2>/dev/null | grep '^|' | cut -d'|' -f2-6; rm -rf axes.toml studies
