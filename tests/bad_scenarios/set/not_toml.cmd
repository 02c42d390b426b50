psim check files/sound.toml --set 'model.layers=[64, 32' --set 'cluster.network={ latency = 50us }' --set 'title="half' --set 'seed=1
workers = 5'
