psim run scenarios/quickstart.toml --out /dev/null
