-- The tables of run.db. Times are simulated seconds, sizes bytes. Nodes count from 0: the scheduler, then
-- the servers, the workers, the database, the inference nodes, as far as there are any. Nothing here but
-- table `host` depends on the machine.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE host (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE node (node INTEGER PRIMARY KEY, role TEXT, number INTEGER);
CREATE TABLE evaluation (at_s REAL, updates INTEGER, epoch REAL, bytes_sent INTEGER, loss REAL, accuracy REAL,
                         namespace INTEGER);
CREATE TABLE worker (worker INTEGER PRIMARY KEY, clocks INTEGER, cancelled INTEGER, mean_step_s REAL,
                     compute_s REAL, network_s REAL, wait_s REAL, absent_s REAL, samples INTEGER,
                     here_at_first INTEGER);
CREATE TABLE server (server INTEGER PRIMARY KEY, updates INTEGER, parameters INTEGER, pushes_applied INTEGER,
                     bytes_sent INTEGER, bytes_received INTEGER);
-- Groups of workers, where there are several: workers first_worker and the next, shards first_shard and the next of
-- their namespace. bytes_sent: by their workers and to them.
CREATE TABLE worker_group (number INTEGER PRIMARY KEY, name TEXT, namespace INTEGER, first_worker INTEGER,
                           workers INTEGER, first_shard INTEGER, shards INTEGER, updates INTEGER, finished_s REAL,
                           bytes_sent INTEGER);
-- Every computation, in a pipeline of each micro-batch forward and backward: trace level `steps` and above.
CREATE TABLE step (worker INTEGER, clock INTEGER, begin_s REAL, end_s REAL, kept INTEGER, version INTEGER);
-- Every event: trace level `events`. A fault (kind `fault`): node is whom it happens to, clock its table in the
-- scenario (from 0), version 1 when it begins and 0 when it ends, value its kind (0 crash, 1 restart, 2 leave, 3 join,
-- 4 slow, 5 link-down, 6 degrade, 7 partition, 8 heal, 9 drop, 10 duplicate, 11 delay, 12 reorder, 13 disk-loss).
-- detail: of compute_end (of samples of others: compute_pause), the samples computed; of update and promote, a hash
-- of all that the next updates depend on, where there are replicas; of a pull, the pushes before it. A message carries so many values, keys (of
-- values, or of samples) and names of pushes and workers.
-- The epoch is that of the shard's ownership which the sender of a message knows; a new owner is a new epoch.
CREATE TABLE event (number INTEGER PRIMARY KEY, at_s REAL, kind TEXT, message TEXT, node INTEGER, peer INTEGER,
                    clock INTEGER, version INTEGER, bytes INTEGER, value INTEGER, shard INTEGER,
                    epoch INTEGER, detail INTEGER, values_carried INTEGER, keys_carried INTEGER,
                    ids_carried INTEGER);
-- 32 bits of every event's hash, little-endian, 16384 to a row: by them `psim replay` finds the first
-- event that differs.
CREATE TABLE event_hash (block INTEGER PRIMARY KEY, hashes BLOB);
