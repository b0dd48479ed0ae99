"""Trains the small models of LightGBM and XGBoost in this folder on generated data, and writes what the libraries predict
with them: python make.py. sql/exchange.sql compares. Run with LightGBM 4.7, XGBoost 3.2 and pandas 3.1."""

import json
import pathlib

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

HERE = pathlib.Path(__file__).parent
random = np.random.default_rng(7)
COLOURS = ["red", "green", "blue", "it's \"grey\""]


def rows(count):
    frame = pd.DataFrame({
        "x": np.round(random.normal(size=count) * 3) / 2,
        "n": random.integers(0, 6, count),
        "colour": pd.Categorical(random.choice(COLOURS, count), categories=COLOURS),
        "code": pd.Categorical(random.choice([10, 9, 300], count), categories=[10, 9, 300]),
    })
    frame.loc[random.random(count) < 0.2, "x"] = np.nan
    frame.loc[random.random(count) < 0.2, "x"] = 0
    frame.loc[random.random(count) < 0.1, "colour"] = np.nan
    return frame


training, points = rows(120), rows(24)
score = np.nan_to_num(training["x"], nan=1.5) + (training["n"] > 2) + training["colour"].cat.codes % 2 * 2.0
score = np.asarray(score + (training["code"] == 9) + random.normal(size=len(training)) / 4)
targets = {"number": score, "binary": (score > 2) * 1.0, "share": 1 / (1 + np.exp(-score / 2)), "count": np.floor(np.exp(score / 3)),
           "class": np.digitize(score, [1, 3]) * 1.0}
answers = {}


def plain(array):
    return [float(x) for x in np.asarray(array, float).ravel()]


def lightgbm(name, target, data=training, at=points, text=None, trees=4, **parameters):
    settings = dict(num_leaves=4, min_data_in_leaf=8, min_data_per_group=1, cat_smooth=1, max_cat_to_onehot=1, num_threads=1, verbose=-1)
    model = lgb.train(settings | parameters, lgb.Dataset(data, targets[target]), trees)
    save_lightgbm(name, model, at)


def save_lightgbm(name, model, at):
    model.save_model(HERE / f"lightgbm_{name}.txt")
    if name == "linear":  # is refused
        return
    answers[f"lightgbm_{name}"] = {"raw": plain(model.predict(at, raw_score=True)), "prediction": plain(model.predict(at)),
                                   "contributions": plain(model.predict(at, pred_contrib=True))}


def xgboost(name, target, trees=4, predict=None, **parameters):
    data = xgb.DMatrix(training, targets[target], enable_categorical=True)
    model = xgb.train(dict(max_depth=2, nthread=1, max_cat_to_onehot=1) | parameters, data, trees)
    save_xgboost(name, model)


def save_xgboost(name, model, **limits):
    model.save_model(HERE / f"xgboost_{name}.json")
    data = xgb.DMatrix(points, enable_categorical=True)
    answers[f"xgboost_{name}"] = {"raw": plain(model.predict(data, output_margin=True, **limits)), "prediction": plain(model.predict(data, **limits))}


lightgbm("regression", "number", objective="regression")
lightgbm("sigmoid", "binary", objective="binary", sigmoid=0.4)
lightgbm("random_forest", "number", objective="regression", boosting="rf", bagging_freq=1, bagging_fraction=0.5)
lightgbm("multiclass", "class", objective="multiclass", num_class=3, trees=2)
lightgbm("one_vs_all", "class", objective="multiclassova", num_class=3, sigmoid=2, trees=2)
lightgbm("lambda", "share", objective="cross_entropy_lambda")
lightgbm("sqrt", "number", objective="regression", reg_sqrt=True)
lightgbm("zero_missing", "number", objective="regression", zero_as_missing=True)
codes = lgb.Dataset(training[["n", "x"]].to_numpy(float), targets["number"], categorical_feature=[0])
save_lightgbm("codes", lgb.train(dict(objective="regression", num_leaves=4, min_data_in_leaf=8, min_data_per_group=1, cat_smooth=1, max_cat_to_onehot=1,
                                      num_threads=1, verbose=-1), codes, 3), points[["n", "x"]].to_numpy(float))
lightgbm("linear", "number", data=training[["x", "n"]].fillna(0), at=points[["x", "n"]].fillna(0), objective="regression", linear_tree=True)
valid = lgb.Dataset(training, targets["number"] * -1)
stopped = lgb.train(dict(objective="regression", num_leaves=4, min_data_in_leaf=8, verbose=-1, metric="l2", num_threads=1, seed=1),
                    lgb.Dataset(training, targets["number"]), 20, valid_sets=[valid], callbacks=[lgb.early_stopping(3, verbose=False)])
assert 1 <= stopped.best_iteration < 20
save_lightgbm("best_iteration", stopped, points)

xgboost("regression", "number", objective="reg:squarederror")
xgboost("logistic", "binary", objective="binary:logistic", base_score=0.25)
xgboost("dart", "count", objective="count:poisson", booster="dart", rate_drop=0.5, trees=6)
xgboost("classes", "class", objective="multi:softprob", num_class=3, num_parallel_tree=2, subsample=0.5, trees=2)
xgboost("one_hot", "number", objective="reg:squarederror", max_cat_to_onehot=20)
noise = xgb.DMatrix(training, -targets["number"], enable_categorical=True)
stopped = xgb.train(dict(max_depth=2, objective="reg:squarederror", nthread=1, learning_rate=0.01),
                    xgb.DMatrix(training, targets["number"], enable_categorical=True), 9, evals=[(noise, "noise")],
                    early_stopping_rounds=3, verbose_eval=False)
save_xgboost("best_iteration", stopped, iteration_range=(0, stopped.best_iteration + 1))
numbers = training[["x", "n"]].fillna(0)
xgb.train(dict(booster="gblinear", nthread=1), xgb.DMatrix(numbers, targets["number"]), 2).save_model(HERE / "xgboost_linear.json")
xgb.train(dict(multi_strategy="multi_output_tree", max_depth=1, nthread=1),
          xgb.DMatrix(numbers, np.c_[targets["number"], targets["share"]]), 1).save_model(HERE / "xgboost_vectors.json")
xgb.train(dict(max_depth=1, nthread=1), xgb.DMatrix(numbers, np.c_[targets["number"], targets["share"]]), 1).save_model(HERE / "xgboost_targets.json")

ordered = training[["x"]].assign(code=training["code"].cat.as_ordered()), points[["x"]].assign(code=points["code"].cat.as_ordered())
lightgbm("ordered", "number", data=ordered[0], at=ordered[1], objective="regression")
targets["one"] = np.ones(len(training))
xgboost("one_class", "one", objective="binary:logistic")
same = xgb.Booster()
same.load_model(HERE / "xgboost_regression.json")
same.save_model(HERE / "xgboost_regression.ubj")

rows_as_json = json.loads(points.to_json(orient="records"))
(HERE / "answers.json").write_text(json.dumps({"points": rows_as_json, "models": answers}) + "\n")
