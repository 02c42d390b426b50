psim check syntax/several.toml --set cluster.workers=four
