psim run files/sound.toml --threads -1
