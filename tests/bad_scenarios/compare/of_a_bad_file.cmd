psim compare several/everything_at_once.toml
