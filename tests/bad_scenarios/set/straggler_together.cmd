# Slownesses multiply, and together they must stay a number; so must the speeds that they make.
scenario() {
  printf '[model]\nlayers = [64, 10]\n[training]\nbatch_size = 16\nsteps = 10\n[cluster]\nworkers = 2\n'
}
{
  scenario
  for i in $(seq 60); do printf '[[straggler]]\nworkers = [0]\nslowdown = 1e6\n'; done
} >large.toml
psim check large.toml
{
  scenario
  for i in $(seq 2000); do printf '[[straggler]]\nworkers = [0]\n'; done
} >many.toml
psim check many.toml
{
  scenario
  for i in $(seq 30); do printf '[[straggler]]\nworkers = [0]\nslowdown = 1.%02d\n' "$i"; done
} >different.toml
psim check different.toml
{
  scenario
  for i in 1 2 3; do
    printf '[[fault]]\nkind = "degrade"\nnodes = ["worker 0"]\nfrom = "0s"\nfactor = 1e-6\n'
  done
} >links.toml
psim check links.toml
rm -f large.toml many.toml different.toml links.toml
