psim check scenarios/quickstart.toml --set training.learning_rate=0,2 --set cluster.workers=4,8
