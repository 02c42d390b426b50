psim studies
psim runs
psim studies remove nothing
psim studies remove ..
psim studies rename one
psim runs rename one two three
psim runs --where seed
psim archive nothing
psim archive
rm -rf mine
mkdir mine
psim studies remove mine
psim runs remove mine
rmdir mine
