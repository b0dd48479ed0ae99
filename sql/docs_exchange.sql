-- The examples of contrib_docs/exchange.md.

CREATE TABLE imported AS SELECT 'rent' AS name, btml.from_lightgbm($$tree
version=v4
num_tree_per_iteration=1
max_feature_idx=1
objective=regression
feature_names=size_m2 kind
feature_infos=[20:139] 0:1

Tree=0
num_leaves=3
num_cat=1
split_feature=0 1
threshold=80.000000000000014 0
decision_type=2 1
left_child=1 -1
right_child=-2 -3
leaf_value=610.5 1420.25 805
leaf_count=300 900 800
cat_boundaries=0 1
cat_threshold=2

end of trees

parameters:
[categorical_feature: 1]
end of parameters

pandas_categorical:[["loft", "flat"]]
$$) AS model;
SELECT flat.*, btml.predict(model, flat) AS rent FROM imported, (VALUES (60, 'loft'), (60, 'flat'), (100, NULL)) flat(size_m2, kind);

SELECT btml.describe(model) FROM imported;
SELECT e.feature, e.value, e.contribution FROM imported, (VALUES (60, 'flat')) flat(size_m2, kind), btml.explain(model, flat) e;
SELECT btml.to_sql(model) AS expression FROM imported;

SELECT btml.predict(model, x) AS probability, btml.predict_score(model, x) AS score
FROM btml.from_xgboost('{"learner": {"attributes": {}, "feature_names": ["height"], "feature_types": ["float"],
    "gradient_booster": {"name": "gbtree", "model": {"tree_info": [0], "trees": [{"left_children": [1, -1, -1],
    "right_children": [2, -1, -1],
        "split_indices": [0, 0, 0], "split_conditions": [0.1, -1.5, 0.7], "default_left": [1, 0, 0], "sum_hessian": [5, 2, 3]}]}},
    "learner_model_param": {"base_score": "[5E-1]", "num_class": "0", "num_feature": "1", "num_target": "1"},
    "objective": {"name": "binary:logistic"}}, "version": [3, 2, 0]}') model, (VALUES (0.05), (0.1), (NULL)) x(height);

CREATE TABLE flat (size_m2 float8, rooms int, kind text, rent float8);
INSERT INTO flat SELECT 20 + i * 37 % 120, 1 + i % 5, CASE i % 3 WHEN 0 THEN 'loft' ELSE 'flat' END,
    300 + 9 * (20 + i * 37 % 120) + 50 * (i % 5)
FROM generate_series(1, 2000) i;
CREATE TABLE trained AS SELECT btml.tree_fit('flat', 'rent', max_leaves => 3) AS model;
SELECT btml.to_lightgbm(model) FROM trained;

SELECT count(*) AS different FROM trained, flat, LATERAL (SELECT btml.from_lightgbm(btml.to_lightgbm(model)) AS again OFFSET 0) b
WHERE btml.predict(model, flat) <> btml.predict(again, flat);

SELECT btml.from_lightgbm(E'tree\nversion=v4\nfeature_names=a\nmax_feature_idx=0\nnum_tree_per_iteration=1\nTree=0\nnum_leaves=1000000000\nleaf_value=1\n');

DROP TABLE imported, flat, trained;
