psim check /dev/zero
