psim run files/sound.toml --trace everything
