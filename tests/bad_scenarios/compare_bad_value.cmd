psim compare compare_bad_value.toml
