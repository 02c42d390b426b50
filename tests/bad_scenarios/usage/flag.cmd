psim run files/sound.toml --thraeds 2
