-- The examples of contrib_docs/installation.md.
SELECT btml.version() ~ '^\d+\.\d+\.\d+$' AS loaded;

SELECT name, setting, unit FROM pg_settings WHERE name LIKE 'btml.%' ORDER BY name;

SET btml.memory_limit = '64kB';
SELECT btml.sumprod('SELECT a FROM generate_series(1, 100000) a');
RESET btml.memory_limit;

SELECT pid, function, phase, done, total, eta, query
FROM btml.progress JOIN pg_stat_activity USING (pid) WHERE datname = current_database();
