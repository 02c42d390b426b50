psim run scenarios/quickstart.toml --set 'consistency.model=[bsp, asp]' --set 'cluster.workers=[4, 8]'
