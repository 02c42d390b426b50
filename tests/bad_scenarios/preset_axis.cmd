psim compare preset_axis.toml
