head -c 100000000 /dev/zero >garbage.toml; psim check garbage.toml; code=$?; rm garbage.toml; exit $code
