psim run scenarios/quickstart.toml --seed 1 --set seed=2
