cat >filters.toml <<'END'
[training]
steps = 10
[messages]
keys = "per-value"
[[filter]]
kind = "topk"
fraction = 0.25
[[filter]]
kind = "2bit"
error_feedback = false
[[filter]]
kind = "fp16"
on = "pull"
[[filter]]
kind = "key-caching"
[[filter]]
kind = "snappy"
on = "push"
flops_per_value = 3.0
END
psim check filters.toml >once.toml && sed -n '/^\[messages/,$p' once.toml; psim check once.toml 2>/dev/null | cmp - once.toml && echo "reads back as the same"; rm filters.toml once.toml
