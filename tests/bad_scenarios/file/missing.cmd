psim check no_such_file.toml
