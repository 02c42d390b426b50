psim run files/sound.toml --sed=7
