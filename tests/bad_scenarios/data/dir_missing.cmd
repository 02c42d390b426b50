psim check scenarios/quickstart.toml --data-dir /no/such/folder
