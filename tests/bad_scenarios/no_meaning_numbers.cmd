# What changes nothing because of a number is noted, and keeps nothing from running.
psim check files/no_meaning_numbers.toml >/dev/null
psim check files/no_meaning_weights.toml >/dev/null
psim check files/no_meaning_phantom_rate.toml >/dev/null
