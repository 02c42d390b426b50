psim check files/sound.toml --set cluster.workers=0 --set training.batch_size=100000 --set cluster.network.latency=-1us --set seed=-5
