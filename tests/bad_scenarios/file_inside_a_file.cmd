psim check syntax_header.toml/x.toml
