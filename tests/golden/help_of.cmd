psim help run >said
psim run --help | cmp - said && psim help | head -1
psim help rnu
rm said
