psim compare scenarios/stragglers.toml --out /dev/null/x
