psim --jsn run files/sound.toml
