psim check files/sound.toml --json
