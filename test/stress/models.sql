-- Bytes of models, changed at random under a digest that is right: they are refused, or answer as a model does.
CREATE TABLE attack.data AS
SELECT i AS id, i % 17 / 3.0 AS a, CASE i % 7 WHEN 0 THEN NULL ELSE i * 7919 % 101 END AS b, (ARRAY['x', 'y', NULL, 'zz'])[1 + i % 4] AS c,
    sin(i % 17) + i % 4 + i * 104729 % 97 / 97.0 AS y
FROM generate_series(1, 400) i;

CREATE TABLE attack.model (number serial, model btml.model);
INSERT INTO attack.model (model) VALUES
    (btml.boost_fit('SELECT a, b, c, y FROM attack.data', 'y', trees => 5, max_leaves => 6)),
    (btml.tree_fit('SELECT a, b, c, y FROM attack.data', 'y')),
    (btml.gp_fit('SELECT a, b, c, y FROM attack.data', 'y', combine => 'mixture', members => 2, evaluations => 200)),
    (btml.gp_fit('SELECT a, b, y FROM attack.data', 'y', combine => 'kernel_sum', members => 4, evaluations => 2000));

-- The portable bytes with a length and a digest that fit the payload.
CREATE FUNCTION attack.sealed(header bytea, payload bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    size bytea := '';
BEGIN
    FOR i IN 0..7 LOOP size := size || set_byte('\x00', 0, (length(payload)::bigint >> (8 * i) & 255)::int); END LOOP;
    RETURN substr(header, 1, 8) || size || substr(sha256(payload), 1, 16) || payload;
END $$;

CREATE FUNCTION attack.mutated(bytes bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    payload bytea := substr(bytes, 33);
    place int;
BEGIN
    FOR i IN 0..floor(random() * 3) LOOP
        place := floor(random() * length(payload));
        CASE floor(random() * 5)
            WHEN 0 THEN payload := substr(payload, 1, place);
            WHEN 1 THEN payload := payload || substr(payload, place, floor(random() * 20)::int);
            WHEN 2 THEN payload := overlay(payload PLACING decode(repeat('ff', 4), 'hex') FROM place + 1);
            ELSE payload := set_byte(payload, place, floor(random() * 256)::int);
        END CASE;
        IF length(payload) = 0 THEN EXIT; END IF;
    END LOOP;
    RETURN attack.sealed(bytes, payload);
END $$;

-- What is wrong with a model, if anything is.
CREATE FUNCTION attack.use_model(m btml.model) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    features int := jsonb_array_length(btml.summary(m)->'features');
    use text;
BEGIN
    IF m::text::btml.model OPERATOR(btml.<>) m THEN RETURN 'differs from its text'; END IF;
    FOREACH use IN ARRAY ARRAY['btml.predict($1, $2)', 'btml.predict_normal($1, $2)', 'btml.to_sql($1)', '(SELECT count(*) FROM btml.trees($1))',
        '(SELECT count(*) FROM btml.training_log($1))', '(SELECT count(*) FROM btml.feature_importance($1))', '(SELECT count(*) FROM btml.gp_relevance($1))',
        '(SELECT count(*) FROM btml.gp_leave_one_out($1))', 'btml.gp_log_likelihood($1)', 'btml.summary(btml.gp_update($1, $2, 1))'] LOOP
        BEGIN
            EXECUTE 'SELECT ' || use USING m, array_fill(1::float8, ARRAY[features]);
        EXCEPTION WHEN OTHERS THEN
            IF SQLSTATE LIKE 'XX%' OR SQLERRM LIKE 'invalid btml.model value%' THEN RETURN format('%s: %s %s', use, SQLSTATE, SQLERRM); END IF;
        END;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION attack.models(seed bigint) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    original attack.model;
    bytes bytea;
    m btml.model;
    wrong text;
BEGIN
    PERFORM setseed(seed % 100000 / 100000.0);
    FOR i IN 1..50 LOOP
        SELECT * INTO original FROM attack.model ORDER BY random() LIMIT 1;
        bytes := attack.mutated(original.model::bytea);
        BEGIN
            m := bytes::btml.model;
        EXCEPTION WHEN OTHERS THEN
            IF SQLERRM <> 'invalid btml.model value' THEN RETURN NEXT format('model %s: %s %s', original.number, SQLSTATE, SQLERRM); END IF;
            CONTINUE;
        END;
        wrong := attack.use_model(m);
        IF wrong IS NOT NULL THEN RETURN NEXT format('model %s: %s: %s', original.number, wrong, bytes); END IF;
    END LOOP;
END $$;
