# Nobody can make a folder there, not even root.
psim fuzz --runs 1 --out /proc/psim/failures
