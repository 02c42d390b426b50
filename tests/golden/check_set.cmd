psim check scenarios/quickstart.toml --set consistency.model=ssp --set cluster.network.latency=1ms --seed 7
