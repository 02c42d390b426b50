-- The tables of run.db. Times are simulated seconds, sizes bytes. Nodes count from 0: the scheduler, then
-- the servers, the workers, the database and the inference nodes, if they exist. Only the table `host` depends on
-- the machine.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE host (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE node (node INTEGER PRIMARY KEY, role TEXT, number INTEGER);
-- The scenario as the simulator resolved it, by namespace if there are several. value: JSON.
CREATE TABLE fact (namespace INTEGER, name TEXT, value TEXT);
-- samples: the evaluated set: `validation`, `test` or `training`. With a validation set the curve uses it, and an
-- additional row, the last of its namespace, evaluates the final weights on the test set.
CREATE TABLE evaluation (at_s REAL, updates INTEGER, epoch REAL, bytes_sent INTEGER, loss REAL, accuracy REAL,
                         namespace INTEGER, samples TEXT);
CREATE TABLE worker (worker INTEGER PRIMARY KEY, clocks INTEGER, cancelled INTEGER, mean_step_s REAL,
                     compute_s REAL, network_s REAL, wait_s REAL, absent_s REAL, samples INTEGER,
                     here_at_first INTEGER);
-- The number of a worker's pushes by their staleness in updates: applied pushes, and pushes dropped as too late or too
-- stale.
CREATE TABLE staleness (worker INTEGER, updates INTEGER, applied INTEGER, dropped INTEGER,
                        PRIMARY KEY (worker, updates)) WITHOUT ROWID;
CREATE TABLE server (server INTEGER PRIMARY KEY, updates INTEGER, parameters INTEGER, pushes_applied INTEGER,
                     bytes_sent INTEGER, bytes_received INTEGER);
-- Groups of workers, if there are several: `workers` workers from first_worker on, and `shards` shards of their
-- namespace from first_shard on. bytes_sent: by their workers and to them.
CREATE TABLE worker_group (number INTEGER PRIMARY KEY, name TEXT, namespace INTEGER, first_worker INTEGER,
                           workers INTEGER, first_shard INTEGER, shards INTEGER, updates INTEGER, finished_s REAL,
                           bytes_sent INTEGER);
-- Answers of inference nodes, by windows of time: requests that arrived in the window, and how many of them were
-- answered, in the window or later. latency: from arrival to answer. For the weights used, when the answer was ready:
-- staleness: newer versions that all servers had reached; age: time since the weights left the servers.
CREATE TABLE serving (begin_s REAL PRIMARY KEY, end_s REAL, requests INTEGER, answered INTEGER, latency_mean_s REAL,
                      latency_max_s REAL, staleness_mean REAL, staleness_max INTEGER, age_mean_s REAL,
                      age_max_s REAL) WITHOUT ROWID;
-- Every computation; in a pipeline, each micro-batch forward and backward. Trace level `steps` and above.
CREATE TABLE step (worker INTEGER, clock INTEGER, begin_s REAL, end_s REAL, kept INTEGER, version INTEGER);
-- The next tables: trace level `events`.
-- Links: one row for each direction; one row for a link of a platform file that shares its bandwidth between both.
-- bandwidth: bytes per second for all messages together, NULL without limit; latency_s: added to a message's latency;
-- both with the factors of the flow model (lv08: 0.97 and 13.01). shared: 0 if every message has the whole bandwidth.
CREATE TABLE link (link INTEGER PRIMARY KEY, name TEXT, bandwidth REAL, latency_s REAL, shared INTEGER);
-- The links that messages from `sender` to `receiver` cross, in the order of `position`. NULL: any node. So the route
-- from node 3 to node 1 has the rows where (sender = 3 OR sender IS NULL) AND (receiver = 1 OR receiver IS NULL).
-- Only pairs that sent messages have rows, so links that no message crossed have none.
CREATE TABLE hop (sender INTEGER, receiver INTEGER, position INTEGER, link INTEGER);
-- One row: further limits of a message's speed. window_bytes: a message has at most window_bytes / (latency of its
-- route) bytes per second. Its sender and its receiver handle one message at a time, in overhead + bytes / bandwidth.
-- NULL: no limit.
CREATE TABLE ends (window_bytes REAL, send_overhead_s REAL, send_bandwidth REAL, receive_overhead_s REAL,
                   receive_bandwidth REAL);
-- When a message was on the wire. A message without a row was there from sent_s to received_s: its nodes have no
-- overhead, and no fault delayed it.
CREATE TABLE wire (message INTEGER PRIMARY KEY, begin_s REAL, end_s REAL);
-- Further needs of an event, in addition to its cause. needs: another event. clock: all workers' pushes of this clock
-- had to be applied to the event's shard.
CREATE TABLE dependency (event INTEGER, needs INTEGER, clock INTEGER);
-- When servers and the storage worked on a message. message NULL: they prepared messages to send.
CREATE TABLE service (node INTEGER, message INTEGER, begin_s REAL, end_s REAL);
-- What each node did, for a worker without gaps until its time ends. use: of several at once the first of `down` (it has
-- crashed, has left, or has not joined yet), `compute`, `network` (a message from or to it is on its way), `wait`. Nodes
-- that are no workers have only rows of `down`. A row of `wait` has one or more rows here, `network` and `wait`: message:
-- the number of the message that ended the wait; for_node: whom the worker waited for, the worker whose push (or other
-- message) released the answer of a server, a server that was down, or the sender. Other rows: for_node is the node.
CREATE TABLE span (node INTEGER, begin_s REAL, end_s REAL, use TEXT, for_node INTEGER, clock INTEGER,
                   message INTEGER);
-- The same run without one fault, or without all of them (fault NULL), from the same random streams. No rows: psim run has
-- not made these runs, because the run is large, or psim compare has made it.
CREATE TABLE without_fault (fault INTEGER, sim_time_s REAL, updates INTEGER);
-- What a worker's step takes at the usual speed of its machine: without stragglers, profiles, faults and other work on
-- the machine. event: its `begun` in `computation`. even_s: seconds if chance draws the mean, of which copies_s copy
-- between host and devices. drawn: the factor on its computing that chance drew.
CREATE TABLE step_cost (event INTEGER PRIMARY KEY, even_s REAL, copies_s REAL, drawn REAL);
-- A node's speed or links are different from at_s on, by faults, stragglers and profiles together. value: a factor on
-- the `speed` of its machine or on the `bandwidth` of its own links; `latency`: seconds by which its messages come later.
CREATE TABLE rate (node INTEGER, quantity TEXT, at_s REAL, value REAL);
-- 32 bits of every event's hash, little-endian, 16384 in a row. With them `psim replay` finds the first event that
-- differs.
CREATE TABLE event_hash (block INTEGER PRIMARY KEY, hashes BLOB);
