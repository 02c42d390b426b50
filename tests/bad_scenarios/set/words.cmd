psim check scenarios/quickstart.toml --set 'compare."cluster.network.latency"=[10ms,soon]'
