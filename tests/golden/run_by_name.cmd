mkdir elsewhere
cd elsewhere
psim check quickstart >/dev/null 2>&1 && echo from elsewhere
cd ..
rmdir elsewhere
psim check quickstart | head -1
psim check quickstrat
