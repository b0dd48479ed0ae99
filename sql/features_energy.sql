-- The supplier of energy of test/data is the same everywhere, and has traces of whoever leaves that features must not see.

CREATE SCHEMA features_energy;
SET search_path = features_energy, public;
-- Compiling takes longer than computing.
SET jit = off;
SET timezone = 'Pacific/Auckland';
SET datestyle = 'SQL, DMY';
CREATE SCHEMA supplier;
SET search_path = supplier, public;
\set customers 400
\i test/data/energy.sql
SET datestyle = 'ISO';
SELECT 'customer' AS name, count(*), md5(string_agg(t::text, ' ' ORDER BY t)) FROM customer t
UNION ALL SELECT 'contract', count(*), md5(string_agg(t::text, ' ' ORDER BY t)) FROM contract t
UNION ALL SELECT 'meter', count(*), md5(string_agg(t::text, ' ' ORDER BY t)) FROM meter t
UNION ALL SELECT 'reading', count(*), md5(string_agg(t::text, ' ' ORDER BY t)) FROM reading t
UNION ALL SELECT 'call', count(*), md5(string_agg(t::text, ' ' ORDER BY t)) FROM call t
UNION ALL SELECT 'task', count(*), md5(string_agg(t::text, ' ' ORDER BY t)) FROM task t ORDER BY name;

-- A call to cancel and a final reading come from as_of on, some of them at as_of itself.
SELECT count(*) FILTER (WHERE at < as_of) AS before, count(*) FILTER (WHERE at = as_of) > 0 AS at_as_of, count(*) > 90 AS many
FROM task JOIN (SELECT customer_id, called_at AS at FROM call WHERE topic = 'cancellation'
    UNION ALL SELECT customer_id, read_on FROM reading JOIN meter USING (meter_id) WHERE occasion = 'final') AS trace USING (customer_id)
WHERE churned;
CREATE FUNCTION plan(source text) RETURNS jsonb LANGUAGE sql AS
$$ SELECT btml.relational_features(source, target => 'churned', as_of => 'as_of') $$;
CREATE FUNCTION score(plan jsonb, source text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE auc float8;
BEGIN
    EXECUTE format('CREATE TEMPORARY TABLE scored AS %s', btml.feature_sql(plan, source));
    SELECT btml.auc(churned, btml.predict(model, scored)) INTO auc FROM scored, (SELECT btml.boost_fit(
        'SELECT * FROM scored WHERE as_of < ''2024-01-01''', 'churned', exclude => '{customer_id,as_of}') AS model) AS fit
    WHERE as_of >= '2024-01-01';
    DROP TABLE scored;
    RETURN auc;
END $$;
SET client_min_messages = warning;
-- As of a month later, the traces are there to be found.
SELECT score(plan(source), source) > 0.95 AS is_given_away
FROM (SELECT 'SELECT customer_id, as_of + 31 AS as_of, churned FROM task') AS s(source);
SELECT score(plan(source), source) BETWEEN 0.6 AND 0.85 AS is_honest
FROM (SELECT 'SELECT customer_id, as_of, churned FROM task') AS s(source);
CREATE TABLE chosen AS SELECT plan('SELECT customer_id, as_of, churned FROM task') AS features;
CREATE TABLE candidates AS SELECT btml.relational_features('SELECT customer_id, as_of FROM task', as_of => 'as_of') AS features;
SELECT name FROM chosen, btml.feature_list(features) WHERE definition ~ '''(cancellation|final)''';
SELECT count(*) > 0 AS is_candidate FROM candidates, btml.feature_list(features) WHERE definition ~ '''final''';
DO $$ BEGIN
    EXECUTE 'CREATE VIEW all_features AS ' || (SELECT btml.feature_sql(features, 'SELECT customer_id, as_of FROM task
        WHERE as_of <= ''2023-06-01''') FROM candidates);
END $$;
SELECT max(reading_occasion_share_final) AS final FROM all_features;

-- What comes from as_of on changes no bit.
CREATE TABLE known_then AS SELECT customer_id, as_of, md5(f::text) FROM all_features AS f;
DELETE FROM reading WHERE read_on >= '2023-06-01';
DELETE FROM call WHERE called_at >= '2023-06-01';
DELETE FROM contract WHERE signed >= '2023-06-01';
SELECT count(*) > 3000 AS many, bool_and(md5(f::text) = md5) AS same FROM known_then JOIN all_features AS f USING (customer_id, as_of);
-- What was there before does.
DELETE FROM call WHERE called_at >= '2023-05-20';
SELECT count(*) FILTER (WHERE md5(f::text) <> md5) > 0 AS another FROM known_then JOIN all_features AS f USING (customer_id, as_of);
DROP SCHEMA features_energy CASCADE;
