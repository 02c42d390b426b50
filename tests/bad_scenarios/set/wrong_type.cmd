psim check files/sound.toml --set cluster.workers=four --set 'model.layers=[64, "32", 10]' --set cluster.network.latency=50 --set training.epochs=true --set title=5
