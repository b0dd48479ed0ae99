-- Settings: their bounds, who may set them, and sessions that have not loaded btml yet.
\set VERBOSITY terse
SELECT btml.version() IS NOT NULL AS loaded;
SET btml.memory_limit = '1kB';
SET btml.threads = -1;
SET btml.device = 'abacus';
SET btml.model_cache = -1;
-- A cap that superusers set.
CREATE ROLE regress_btml_user;
GRANT USAGE ON SCHEMA btml TO regress_btml_user;
SET btml.memory_limit = '1MB';
SET ROLE regress_btml_user;
SET btml.max_memory_limit = '1GB';
RESET ROLE;
SET btml.max_memory_limit = '128kB';
SET ROLE regress_btml_user;
\set VERBOSITY default
SET btml.memory_limit = '129kB';
\set VERBOSITY terse
SET btml.memory_limit = '128kB';
RESET btml.memory_limit;
SHOW btml.memory_limit;
SELECT btml.sumprod('SELECT a FROM generate_series(1, 100000) a');
RESET ROLE;
RESET btml.max_memory_limit;
SELECT btml.sumprod('SELECT a FROM generate_series(1, 100000) a');
-- Workers of a parallel query take what the session has, though the cap has come down since.
SET btml.memory_limit = '2GB';
SET btml.max_memory_limit = '1GB';
CREATE TABLE settings_point AS SELECT i AS x, i % 3 = 0 AS y FROM generate_series(1, 10000) i;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SELECT round(btml.auc(y, x)::numeric, 6) AS auc FROM settings_point;
DROP TABLE settings_point;
-- A session that has not loaded btml keeps whatever it is told, and checks it then.
\c -
SET btml.threads = 'many';
SHOW btml.threads;
SELECT btml.version() IS NOT NULL AS loaded;
SHOW btml.threads;
-- One that loads it from the start knows its settings.
SELECT current_database() AS database \gset
ALTER DATABASE :database SET session_preload_libraries = 'btml';
\c -
SET btml.threads = 'many';
SHOW btml.memory_limit;
ALTER DATABASE :database RESET session_preload_libraries;
REVOKE USAGE ON SCHEMA btml FROM regress_btml_user;
DROP ROLE regress_btml_user;
