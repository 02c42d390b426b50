psim explain tasks bounded-delay
