psim check files/sound.toml --set 'cluster.größe=4' --set 'title=été' --set 'model.activation=été'
