psim check files/sound.toml --set .workers=4 --set cluster.=4 --set cluster..workers=4 --set .=1
