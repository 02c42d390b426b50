psim check scenarios/quickstart.toml --set training.steps=99999999999999999999
