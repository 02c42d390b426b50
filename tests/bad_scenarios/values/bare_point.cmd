for number in .15 5. +.5; do
  printf '[training]\nlearning_rate = %s\n' "$number" >numbers.toml && psim check numbers.toml
  printf '[training]\nlearning_rate = "%s"\n' "$number" >numbers.toml && psim check numbers.toml
  psim check quickstart --set "training.learning_rate=$number" 2>&1 | grep 'learning_rate'
done
rm numbers.toml
