psim compare compare/bad_value.toml
