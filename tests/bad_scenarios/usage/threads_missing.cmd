psim run files/sound.toml --threads
