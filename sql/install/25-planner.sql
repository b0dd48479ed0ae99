-- Ordinary aggregates over joins, factorized by the planner.

CREATE FUNCTION btml.explain_factorized(query text) RETURNS SETOF text
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_explain_factorized';
COMMENT ON FUNCTION btml.explain_factorized(text) IS
'for each grouped or distinct query over a join that the query has: its relations and whether btml.factorize_aggregates computes it without
the join, or the reason why not; the query is planned, not run, under the setting, or where that is off under on and exact; error 42601 unless it is one statement, 0A000 for one that is no query';
