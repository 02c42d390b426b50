psim rnu files/sound.toml
