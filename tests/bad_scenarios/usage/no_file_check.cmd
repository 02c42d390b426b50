psim check --set seed=1
