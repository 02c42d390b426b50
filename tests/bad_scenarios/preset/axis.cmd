psim compare preset/axis.toml
