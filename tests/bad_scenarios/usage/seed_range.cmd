psim run files/sound.toml --seed 99999999999999999999
