psim run scenarios/quickstart.toml --set tune.trials=4 --set compare.seeds=[1,2] --set 'tune."training.learning_rate"=[0.1]'
