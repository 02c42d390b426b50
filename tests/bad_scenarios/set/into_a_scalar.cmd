psim check files/sound.toml --set training.epochs.first=1 --set model.layers.0=5 --set training.epochs.a.b.c=1
