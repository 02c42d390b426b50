psim run files/sound.toml --colour
