psim check keys_misspelt.toml --set cluster.workers=four
