psim explain tf1-syncreplicas
