-- SQLSTATE, message, DETAIL and HINT of the error that a statement ends with.
CREATE FUNCTION caught(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE state text; message text; detail text; hint text;
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n', state || ': ' || message, 'DETAIL: ' || nullif(detail, ''), 'HINT: ' || nullif(hint, ''));
END $$;
