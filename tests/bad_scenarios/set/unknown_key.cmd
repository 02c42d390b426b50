psim check files/sound.toml --set clutser.workers=4 --set cluster.wrokers=4 --set wrokers=4 --set workers=4 --set straggler.0.slow_down=2
