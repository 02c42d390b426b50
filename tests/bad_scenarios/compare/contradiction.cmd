psim compare compare/contradiction.toml
