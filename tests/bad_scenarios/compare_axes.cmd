psim compare compare_axes.toml
