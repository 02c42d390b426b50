psim check files/sound.toml --set cluster.workers --set =4 --set '' --set cluster.workers=
