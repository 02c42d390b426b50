psim schema >/dev/full
