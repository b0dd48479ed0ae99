-- Models compared on rows that they have not seen.

CREATE FUNCTION btml.cross_validate(source text, target name, folds numeric DEFAULT 5, fold name DEFAULT NULL,
    method text DEFAULT 'boost', options btml.json DEFAULT '{}', metric text DEFAULT NULL, seed numeric DEFAULT 0,
    unit text DEFAULT 'join', order_by name DEFAULT NULL, gap interval DEFAULT NULL, group_by name DEFAULT NULL,
    args text[] DEFAULT NULL,
    OUT fold text, OUT rows bigint, OUT metric text, OUT value float8, OUT seconds float8, OUT trees integer)
RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 10000000 ROWS 5 AS 'MODULE_PATHNAME', 'btml_cross_validate';
COMMENT ON FUNCTION btml.cross_validate(text, name, numeric, name, text, btml.json, text, numeric, text, name, interval, name, text[]) IS
'scores of models of btml.boost_fit (method boost) or btml.gp_fit (gp), each on the rows of a fold, trained on the others; the
source is read, joined and binned once; folds: rows of the target''s table by hashes of their contents, alike in labels;
fold: a column of their names, NULL trains only; order_by: each fold is trained on the rows more than gap before it;
group_by: folds of whole groups; options, unit: of the fit; metric: by the objective unless named; rows: of the join
scored; value: after as many trees as make the mean best; errors name the fold, option or column: 22023, 22004, 42804, 42703,
54000 for more than 1,000 folds, 53200; contrib_docs/validation.md';

CREATE FUNCTION btml.tune(source text, target name, space btml.json, trials numeric DEFAULT 50, folds numeric DEFAULT 5,
    fold name DEFAULT NULL, method text DEFAULT 'boost', options btml.json DEFAULT '{}', metric text DEFAULT NULL,
    seed numeric DEFAULT 0, holdout name DEFAULT NULL, unit text DEFAULT 'join', order_by name DEFAULT NULL, gap interval DEFAULT NULL,
    group_by name DEFAULT NULL, args text[] DEFAULT NULL, OUT trial integer, OUT options jsonb, OUT score float8,
    OUT std_error float8, OUT holdout_score float8, OUT trees integer, OUT seconds float8, OUT best boolean,
    OUT folds integer) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 10000000 ROWS 50 AS 'MODULE_PATHNAME', 'btml_tune';
COMMENT ON FUNCTION btml.tune(text, name, btml.json, numeric, numeric, name, text, btml.json, text, numeric, name, text, name, interval, name, text[]) IS
'random search with successive halving (Jamieson, Talwalkar, AISTATS 2016) on the folds of btml.cross_validate; space: values of
options, each a list or {"from":, "to":, "scale": "log"}; options: a trial''s, as btml.boost_fit and btml.gp_fit take them;
score: mean over the folds that a trial was scored on; std_error: of its difference from the best on those folds, of the best of
its score; holdout_score: of the best alone, on rows that no trial saw; the same seed gives the same rows but for seconds;
errors name the option: 22023 for a space or a value that is not valid, otherwise those of btml.cross_validate;
contrib_docs/validation.md';
