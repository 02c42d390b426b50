psim check syntax_several.toml --set cluster.workers=four
