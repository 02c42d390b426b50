psim check syntax/header.toml/x.toml
