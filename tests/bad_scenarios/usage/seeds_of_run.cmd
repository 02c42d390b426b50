psim run scenarios/quickstart.toml --seeds 1,2
