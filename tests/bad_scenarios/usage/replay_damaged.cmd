mkdir d; echo garbage > d/run.db; cp scenarios/quickstart.toml d/scenario.toml; psim replay d; c=$?; rm -r d; exit $c
