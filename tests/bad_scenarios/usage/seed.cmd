psim run files/sound.toml --seed 1.5
