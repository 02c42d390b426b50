psim compare scenarios/quickstart.toml --seeds 1,,x
