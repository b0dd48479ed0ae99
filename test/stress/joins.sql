-- Random joins against plain SQL over the same query.
CREATE FUNCTION attack.joins(seed bigint) RETURNS SETOF text LANGUAGE plpgsql SET search_path = random_joins AS $$
BEGIN
    PERFORM setseed(seed % 100000 / 100000.0);
    RETURN QUERY SELECT unnest(failures) FROM run(200);
END $$;
