-- The tables of run.db. Times are simulated seconds, sizes bytes. Nodes count from 0: the scheduler, then
-- the servers, the workers, the database, the inference nodes, as far as there are any. Nothing here but
-- table `host` depends on the machine.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE host (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE node (node INTEGER PRIMARY KEY, role TEXT, number INTEGER);
-- What the simulator made of the scenario; of one namespace alone, where there are several. value: JSON.
CREATE TABLE fact (namespace INTEGER, name TEXT, value TEXT);
-- samples: over the `validation`, the `test` or the `training` set. With a validation set the curve is over it, and one
-- more row, the last of its namespace, has the last weights over the test set.
CREATE TABLE evaluation (at_s REAL, updates INTEGER, epoch REAL, bytes_sent INTEGER, loss REAL, accuracy REAL,
                         namespace INTEGER, samples TEXT);
CREATE TABLE worker (worker INTEGER PRIMARY KEY, clocks INTEGER, cancelled INTEGER, mean_step_s REAL,
                     compute_s REAL, network_s REAL, wait_s REAL, absent_s REAL, samples INTEGER,
                     here_at_first INTEGER);
-- How many of a worker's pushes were so many updates stale: when they were applied, and when they were dropped as too
-- late or too stale.
CREATE TABLE staleness (worker INTEGER, updates INTEGER, applied INTEGER, dropped INTEGER,
                        PRIMARY KEY (worker, updates)) WITHOUT ROWID;
CREATE TABLE server (server INTEGER PRIMARY KEY, updates INTEGER, parameters INTEGER, pushes_applied INTEGER,
                     bytes_sent INTEGER, bytes_received INTEGER);
-- Groups of workers, where there are several: workers first_worker and the next, shards first_shard and the next of
-- their namespace. bytes_sent: by their workers and to them.
CREATE TABLE worker_group (number INTEGER PRIMARY KEY, name TEXT, namespace INTEGER, first_worker INTEGER,
                           workers INTEGER, first_shard INTEGER, shards INTEGER, updates INTEGER, finished_s REAL,
                           bytes_sent INTEGER);
-- What inference nodes answered, by windows of time: requests that came in it, and those of them that were answered,
-- then or later. latency: from arrival to answer. Of the weights used, when the answer was ready: staleness, the
-- versions that all servers had had beyond them; age, since they left the servers.
CREATE TABLE serving (begin_s REAL PRIMARY KEY, end_s REAL, requests INTEGER, answered INTEGER, latency_mean_s REAL,
                      latency_max_s REAL, staleness_mean REAL, staleness_max INTEGER, age_mean_s REAL,
                      age_max_s REAL) WITHOUT ROWID;
-- Every computation, in a pipeline of each micro-batch forward and backward: trace level `steps` and above.
CREATE TABLE step (worker INTEGER, clock INTEGER, begin_s REAL, end_s REAL, kept INTEGER, version INTEGER);
-- The next four: trace level `events`.
-- Links, one row for each direction, or for a link of a platform file that has one for both. bandwidth: bytes per
-- second that messages get of it in all, NULL without limit; latency_s: that it adds to a message's; both with the
-- factors of the flow model (lv08: 0.97 and 13.01). shared: 0 if every message has the whole bandwidth.
CREATE TABLE link (link INTEGER PRIMARY KEY, name TEXT, bandwidth REAL, latency_s REAL, shared INTEGER);
-- Which links the messages from `sender` to `receiver` cross, in the order of `position`. NULL: whoever it is; so
-- the way from node 3 to node 1 has the rows where (sender = 3 OR sender IS NULL) AND (receiver = 1 OR receiver
-- IS NULL). For all that sent messages. Many a link is no row's: nothing crossed it.
CREATE TABLE hop (sender INTEGER, receiver INTEGER, position INTEGER, link INTEGER);
-- One row: what else a message takes. window_bytes: it has at most window_bytes / (latency of its way) bytes per
-- second. At its sender and its receiver, one message at a time: overhead + bytes / bandwidth. NULL: no limit.
CREATE TABLE ends (window_bytes REAL, send_overhead_s REAL, send_bandwidth REAL, receive_overhead_s REAL,
                   receive_bandwidth REAL);
-- When a message was on the wire. Those that are not here were there from sent_s to received_s: nodes without
-- overhead, no delay by a fault.
CREATE TABLE wire (message INTEGER PRIMARY KEY, begin_s REAL, end_s REAL);
-- What an event needed besides its cause: another event; or, in `clock`, that all workers' pushes of that clock were
-- applied to its shard.
CREATE TABLE dependency (event INTEGER, needs INTEGER, clock INTEGER);
-- When servers and the storage worked on a message; NULL: on what they send.
CREATE TABLE service (node INTEGER, message INTEGER, begin_s REAL, end_s REAL);
-- 32 bits of every event's hash, little-endian, 16384 to a row: by them `psim replay` finds the first
-- event that differs.
CREATE TABLE event_hash (block INTEGER PRIMARY KEY, hashes BLOB);
