-- Features of things from the tables around them.

CREATE FUNCTION btml.relational_features(source text, target name DEFAULT NULL, as_of name DEFAULT NULL,
    relations btml.json DEFAULT NULL, windows interval[] DEFAULT NULL, max_depth numeric DEFAULT 2,
    max_features numeric DEFAULT 200, inclusive boolean DEFAULT false, holdout name DEFAULT NULL, seed numeric DEFAULT 0,
    args text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_relational_features';
COMMENT ON FUNCTION btml.relational_features(text, name, name, btml.json, interval[], numeric, numeric, boolean, name, numeric, text[]) IS
'a plan of features for each row of the source, a thing as of a time: what the rows before that time amount to in the tables that
foreign keys lead to, or in those named (Kanter, Veeramachaneni: Deep Feature Synthesis, 2015); with a target the features of the
greatest gain, by boosted trees of a sample; the plan is for btml.feature_sql and btml.feature_list; options:
contrib_docs/entities.md; error 42703 for a column that is not there, 42P01 for a named table that is not there, 42804 for a time of
another type, 22004 for an as_of that is NULL, 22023 for relations or options, also where holdout, max_features or seed have no
target, windows or inclusive no as_of';

CREATE FUNCTION btml.feature_sql(plan btml.json, source text, args text[] DEFAULT NULL) RETURNS text
LANGUAGE C STABLE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_feature_sql';
COMMENT ON FUNCTION btml.feature_sql(btml.json, text, text[]) IS
'a SELECT of the source''s columns and of the plan''s features, for a view or as the source of a fit, with args as
quoted literals; whoever runs it reads the tables; error 22023 for what is no plan and for a joined table that has lost its key,
42703 where the source lacks a column that the plan needs, 42P01 for a table that is not there, 42804 for a time that is none or
has a zone where as_of has none, or the other way round, 54000 for more columns than a SELECT has';

CREATE FUNCTION btml.feature_list(plan btml.json)
RETURNS TABLE(name text, definition text, gain float8, path text, column_name text, aggregate text, window_length text)
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_feature_list';
COMMENT ON FUNCTION btml.feature_list(btml.json) IS
'the features of a plan in its order, which with a target is the most useful first: name, what it is in words, gain of the trees it was
chosen by (NULL without a target), tables and keys that lead to its rows, column, aggregate, window before as_of (NULL: all rows);
error 22023 for what is no plan';

CREATE FUNCTION btml.history_features("at" timestamp, since timestamp[], x float8[], features text[]) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT WINDOW AS 'MODULE_PATHNAME', 'btml_history_features';
COMMENT ON FUNCTION btml.history_features(timestamp, timestamp[], float8[], text[]) IS
'what the SELECT of btml.feature_sql computes: in the order of times, a row of a thing has numbers x and no since and gets NULL; a
prediction has since, where each window begins, and gets a number for each of the features, a constant, as in "mean 2 1": aggregate, number
of x, window; of all rows before it in the partition; of one time a column''s greatest value is its last;
error 22023 for rows that are not ordered by their times';

CREATE FUNCTION btml.history_last("at" timestamp, since timestamp[], t text[]) RETURNS text[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT WINDOW AS 'MODULE_PATHNAME', 'btml_history_last';
COMMENT ON FUNCTION btml.history_last(timestamp, timestamp[], text[]) IS
'the last text that is not NULL of each element of t in the rows before a prediction, which has a since, in the order of times;
of one time the greatest text by bytes is the last; error 22023 for rows that are not ordered by their times';
