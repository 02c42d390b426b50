for word in wait relative compare notes idle-fault; do psim explain $word | head -1; done
psim explain straggler
psim explain cluster | head -4
