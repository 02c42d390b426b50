psim check ''
