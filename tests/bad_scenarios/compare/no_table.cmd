psim compare compare/no_table.toml
