psim check files/sound.toml --set consistency.model=bsp --set consistency.staleness=3 --set compute.cv=0.5
