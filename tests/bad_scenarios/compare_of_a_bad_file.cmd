psim compare everything_at_once.toml
