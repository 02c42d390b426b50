psim check keys/misspelt.toml --set cluster.workers=four
