psim check files/sound.toml several/everything_at_once.toml
