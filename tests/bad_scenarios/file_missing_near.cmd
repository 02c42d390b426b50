psim check syntax_heder.toml
