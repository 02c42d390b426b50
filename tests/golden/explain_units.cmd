psim explain units
