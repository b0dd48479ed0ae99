-- The quickstart of README.md.
\set QUIET on
\i test/data/baseball/load.sql
CREATE SCHEMA readme;
SET search_path = readme, public;
\i test/data/energy.sql
RESET client_min_messages;
\set ON_ERROR_STOP off

CREATE TABLE churn AS SELECT btml.relational_features($$ SELECT * FROM task WHERE as_of < '2024-03-01' $$,
    target => 'churned', as_of => 'as_of') AS plan;
SELECT definition FROM churn, btml.feature_list(plan) LIMIT 3;

CREATE TABLE churn_model AS SELECT btml.boost_fit(btml.feature_sql(plan, $$ SELECT * FROM task WHERE as_of < '2024-03-01' $$), 'churned',
    exclude => '{customer_id,as_of}', holdout_fraction => 0.2, order_by => 'as_of', early_stopping => 20) AS model FROM churn;
SELECT btml.feature_sql(plan, $$ SELECT * FROM task WHERE as_of >= '2024-03-01' $$) AS later FROM churn \gset
SELECT round(btml.auc(churned, btml.predict(model, t.*))::numeric, 2) AS auc FROM (:later) t, churn_model;

CREATE TABLE models AS SELECT btml.boost_fit($$
    SELECT ln(s.salary) AS log_salary, s.yearid, p.debut, p.birthyear, p.birthcountry, p.weight, p.bats, t.teamid,
           p.birthyear % 5 = 0 AS held_out
    FROM baseball.salaries s
    JOIN baseball.people p USING (playerid)
    JOIN baseball.teams t USING (yearid, teamid)
    WHERE s.salary > 0 $$, target => 'log_salary', holdout => 'held_out') AS model;

SELECT iteration, round(sqrt(train_loss)::numeric, 3) AS train_rmse, round(sqrt(holdout_loss)::numeric, 3) AS holdout_rmse
FROM models, btml.training_log(model) WHERE iteration IN (1, 10, 100);

CREATE TYPE season AS (yearid int, debut date, birthyear int, birthcountry text, weight int, bats text, teamid text);
SELECT p.namefirst || ' ' || p.namelast AS player, s.salary, round(exp(btml.predict(m.model,
       ROW(s.yearid, p.debut, p.birthyear, p.birthcountry, p.weight, p.bats, s.teamid)::season))::numeric, -3) AS predicted
FROM models m, baseball.salaries s JOIN baseball.people p USING (playerid)
WHERE s.yearid = 2016 AND p.birthyear % 5 = 0 ORDER BY md5(s.playerid) LIMIT 5;

CREATE TABLE hands AS SELECT btml.boost_fit($$
    SELECT throws = 'L' AS left_handed, bats, height, weight, birthcountry, birthyear % 5 = 0 AS held_out
    FROM baseball.people $$, 'left_handed', holdout => 'held_out', trees => 30) AS model;
CREATE TABLE guess AS SELECT p.throws = 'L' AS left_handed, btml.predict(model, p.*) AS probability
FROM hands, baseball.people p WHERE p.birthyear % 5 = 0 AND p.throws IS NOT NULL;
SELECT round(btml.auc(left_handed, probability)::numeric, 3) AS auc, round(btml.log_loss(left_handed, probability)::numeric, 3) AS log_loss,
       (SELECT round((btml.summary(model)#>>'{metrics,baseline_holdout_loss}')::numeric, 3) FROM hands) AS of_the_share_alone FROM guess;

SELECT inches.height, round(p.mean) AS weight, round(p.sd) AS sd
FROM (SELECT btml.gp_fit('SELECT weight, height FROM baseball.people WHERE height IS NOT NULL', 'weight') AS model) fit,
     (VALUES (66), (72), (78)) inches(height), LATERAL btml.predict_normal(fit.model, inches) p;

DROP TABLE models, hands, guess;
DROP TYPE season;
DROP SCHEMA baseball CASCADE;
