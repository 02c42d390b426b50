psim compare compare/unquoted_axis.toml
