psim compare compare_no_table.toml
