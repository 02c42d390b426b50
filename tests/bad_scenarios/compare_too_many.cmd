psim compare compare_too_many.toml
