psim list | sed '/^Topics/,$d'
