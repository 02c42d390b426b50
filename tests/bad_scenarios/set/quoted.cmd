psim check scenarios/quickstart.toml --set data.validation_fraction=0.2 --set 'tune."training.learning_rate"=[0.1,0.1]'
