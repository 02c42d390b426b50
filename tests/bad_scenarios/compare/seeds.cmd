psim compare compare/seeds.toml
