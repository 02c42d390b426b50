psim compare compare/unknown_axis.toml
