psim compare compare/arms.toml
