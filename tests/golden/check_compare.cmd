psim check scenarios/stragglers.toml >/dev/null
psim check scenarios/stragglers.toml --seed 7 >/dev/null
psim check scenarios/quickstart.toml >/dev/null
