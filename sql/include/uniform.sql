-- Numbers of [0, 1) that are the same on every version of PostgreSQL: a hash of a row's number and a column's.
CREATE FUNCTION uniform("row" bigint, "column" bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT (hashint8extended("row", "column") & 9007199254740991) / 9007199254740992.0::float8
$$;
