psim compare compare_seeds.toml
