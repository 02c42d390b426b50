psim check scenarios/quickstart.toml --set cluster.spares=1
