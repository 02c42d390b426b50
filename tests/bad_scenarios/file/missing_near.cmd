psim check syntax/heder.toml
