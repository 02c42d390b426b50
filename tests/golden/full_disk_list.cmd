psim check scenarios/quickstart.toml 2>/dev/null >/dev/full
