psim compare compare/arm_tables.toml
