head -c 4000000 /dev/zero | tr "\0" "[" >garbage.toml; psim check garbage.toml; code=$?; rm garbage.toml; exit $code
