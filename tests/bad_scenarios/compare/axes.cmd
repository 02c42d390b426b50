psim compare compare/axes.toml
