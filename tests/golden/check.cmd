psim check scenarios/quickstart.toml
