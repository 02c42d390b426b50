psim run scenarios/quickstart.toml --seed=1 --seed=2
