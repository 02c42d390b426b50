psim compare compare/too_many.toml
