psim check files/sound.toml everything_at_once.toml
