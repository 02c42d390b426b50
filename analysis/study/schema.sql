-- The tables of study.db: what a study's runs gave. Times are simulated seconds, sizes bytes; NULL: not known.
-- Nothing here depends on the machine.
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
-- One row for each arm, condition and seed. Rows with the same `run` (the hash of a scenario) are one run: an axis
-- has no meaning beside another one's value. time_s: to the target, or of the whole run if it has none. budget_s:
-- how long it would have gone on for its target; infinite if it got stuck.
CREATE TABLE runs (number INTEGER PRIMARY KEY, run TEXT, arm TEXT, seed INTEGER, time_s REAL, reached INTEGER,
                   budget_s REAL);
-- The condition of each run: its value of every axis but that of the arms.
CREATE TABLE conditions (number INTEGER REFERENCES runs, axis TEXT, value TEXT, PRIMARY KEY (number, axis))
  WITHOUT ROWID;
-- Everything measured of each run; the names have the units.
CREATE TABLE measures (number INTEGER REFERENCES runs, name TEXT, value REAL, PRIMARY KEY (number, name))
  WITHOUT ROWID;
-- Every evaluation of each run, in order.
CREATE TABLE curves (number INTEGER REFERENCES runs, sim_time_s REAL, updates INTEGER, epoch REAL,
                     bytes_sent INTEGER, loss REAL, accuracy REAL);
