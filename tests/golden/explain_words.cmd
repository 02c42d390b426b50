for word in wait relative compare notes idle-fault; do psim explain $word | head -1; done
for word in shard read-my-writes "ssp 3" k-batch-async; do psim explain $word | head -1; done
psim explain stragglers | sed -n 3p
psim explain k-sync | sed -n '/^In/,/^$/p'
psim explain straggler
psim explain cluster | head -4
