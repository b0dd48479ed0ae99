-- Who earns what in Major League Baseball, and who is elected? Boosted trees over joins, in plain SQL. `make demo` runs it
-- in a private cluster; in a database of one's own: CREATE EXTENSION btml, test/data/baseball/load.sql, then this file.
\set ON_ERROR_STOP on
\set QUIET on
\pset pager off
\pset footer off
SET search_path = baseball;

\echo
\echo == The question
\echo Salaries grew fivefold from 1985 to 2016, so a model of dollars would mostly learn the calendar. The target is what
\echo a player earns against his own season: pay = ln(salary) - the average of ln(salary) in that season.
\echo The seasons since 2011 are held out. The plain mean then predicts 0 for everybody, in every season alike.
\echo

CREATE TABLE pay AS
SELECT s.playerid, s.yearid, s.teamid, s.salary, season.level, ln(nullif(s.salary, 0)) - season.level AS pay,
       s.yearid - p.birthyear AS age, s.yearid - extract(year FROM p.debut)::int AS experience
FROM salaries s
JOIN people p USING (playerid)
JOIN (SELECT yearid, avg(ln(nullif(salary, 0))) AS level FROM salaries GROUP BY yearid) season USING (yearid);
ANALYZE pay;

\echo == 1. A snowflake: salaries, people, teams
\echo Only what was known before the season began: no result of the season itself.
\echo

CREATE VIEW career AS
SELECT s.pay, s.yearid >= 2011 AS holdout, s.age, s.experience, s.teamid,
       p.birthcountry, p.weight, p.height, p.bats, p.throws, t.lgid, t.divid
FROM pay s
JOIN people p ON p.playerid = s.playerid
JOIN teams t ON t.yearid = s.yearid AND t.teamid = s.teamid;

SELECT explain_join AS "btml.explain_join('baseball.career')" FROM btml.explain_join('baseball.career');

\timing on
CREATE TABLE model AS SELECT 'career' AS name, btml.boost_fit('baseball.career', target => 'pay', holdout => 'holdout') AS fit;
\timing off

\echo
\echo Root mean squared error on the seasons since 2011. A difference of 0.7 is a factor of two in dollars.
WITH plain AS (SELECT avg(pay) FILTER (WHERE NOT holdout) AS mean FROM career),
     rows AS (SELECT count(*) AS n, sqrt(avg((pay - mean) ^ 2)) AS plain_mean, sqrt(avg((pay - btml.predict(fit, c.*)) ^ 2)) AS boosted_trees
              FROM career c, plain, model WHERE holdout AND pay IS NOT NULL)
SELECT n AS held_out_rows, round(plain_mean::numeric, 3) AS plain_mean, round(boosted_trees::numeric, 3) AS boosted_trees,
       round((100 * (1 - boosted_trees ^ 2 / plain_mean ^ 2))::numeric, 1) || ' %' AS variance_explained FROM rows;

\echo As the trees were added:
SELECT iteration, round(sqrt(train_loss)::numeric, 3) AS train_rmse, round(sqrt(holdout_loss)::numeric, 3) AS holdout_rmse
FROM model, btml.training_log(fit) WHERE iteration IN (1, 2, 5, 10, 20, 50, 100) ORDER BY iteration;

\echo What the trees look at:
SELECT feature, round((100 * gain / sum(gain) OVER ())::numeric, 1) AS percent_of_gain, splits
FROM model, btml.feature_importance(fit) ORDER BY gain DESC;

\echo Some predictions for 2016 beside the truth, in dollars (a typical salary: the exponential of a mean logarithm):
WITH chosen AS (
    SELECT c.*, p.namefirst || ' ' || p.namelast AS player, s.salary, s.level
    FROM pay s JOIN people p USING (playerid) JOIN teams t USING (yearid, teamid),
         LATERAL (SELECT s.age, s.experience, s.teamid, p.birthcountry, p.weight, p.height, p.bats, p.throws, t.lgid, t.divid) c
    WHERE s.yearid = 2016 AND (p.namefirst, p.namelast) IN (('Clayton', 'Kershaw'), ('Mike', 'Trout'), ('Ichiro', 'Suzuki'),
        ('David', 'Ortiz'), ('Kris', 'Bryant'), ('Mookie', 'Betts'), ('Bartolo', 'Colon'), ('Jose', 'Altuve')))
SELECT player, teamid, experience, to_char(salary, '99,999,999') AS salary,
       to_char(exp(level + btml.predict(fit, chosen.*)), '99,999,999') AS predicted
FROM chosen, model ORDER BY chosen.salary DESC;

\echo == 2. A many-to-many join: awards and postseason batting of the season before
\echo A player has several awards and several postseason rounds in one season, and most have none: left joins keep them.
\echo Season - 1 on the right-hand side keeps the future out.
\echo

CREATE VIEW form AS
SELECT s.pay, s.yearid >= 2011 AS holdout, s.age, s.experience, s.teamid,
       p.birthcountry, p.weight, p.height, p.bats, p.throws, t.lgid, t.divid,
       a.awardid, b.round, b.g, b.ab, b.r, b.h, b."2b", b."3b", b.hr, b.rbi, b.bb, b.so
FROM pay s
JOIN people p ON p.playerid = s.playerid
JOIN teams t ON t.yearid = s.yearid AND t.teamid = s.teamid
LEFT JOIN awardsplayers a ON a.playerid = s.playerid AND a.yearid = s.yearid - 1
LEFT JOIN battingpost b ON b.playerid = s.playerid AND b.yearid = s.yearid - 1;

\echo How btml sees the join: the base tables and the join tree over them. The join itself is never written out.
SELECT explain_join AS "btml.explain_join('baseball.form')" FROM btml.explain_join('baseball.form');

\timing on
INSERT INTO model SELECT 'form', btml.boost_fit('baseball.form', target => 'pay', holdout => 'holdout');
-- The same rows without the awards and the postseason.
INSERT INTO model SELECT 'form, career only', btml.boost_fit('baseball.form', target => 'pay', holdout => 'holdout',
    features => '{age,experience,teamid,birthcountry,weight,height,bats,throws,lgid,divid}');
\timing off

\echo
\echo Root mean squared error over the held-out rows of the join (a player with more lines counts more often):
WITH plain AS (SELECT sqrt(avg((pay - mean) ^ 2)) AS rmse, count(*) AS n
               FROM form, (SELECT avg(pay) AS mean FROM form WHERE NOT holdout) m WHERE holdout AND pay IS NOT NULL)
SELECT n AS held_out_rows, round(plain.rmse::numeric, 3) AS plain_mean,
       round(max(sqrt(holdout_loss)) FILTER (WHERE name = 'form, career only')::numeric, 3) AS trees_on_career,
       round(max(sqrt(holdout_loss)) FILTER (WHERE name = 'form')::numeric, 3) AS trees_on_career_and_form
FROM plain, model, LATERAL (SELECT holdout_loss FROM btml.training_log(fit) ORDER BY iteration DESC LIMIT 1) last
WHERE name <> 'career' GROUP BY n, plain.rmse;

\echo What the trees look at now:
SELECT feature, round((100 * gain / sum(gain) OVER ())::numeric, 1) AS percent_of_gain, splits
FROM model, btml.feature_importance(fit) WHERE name = 'form' ORDER BY gain DESC LIMIT 10;

\echo A model is a value in a table:
SELECT name, btml.summary(fit)->>'rows' AS rows, btml.summary(fit)->>'rows_skipped' AS skipped,
       btml.summary(fit)->>'strategy' AS strategy, pg_size_pretty(pg_column_size(fit)::bigint) AS size
FROM model;

\echo
\echo == 3. Classes, counts and quantiles
\echo Who is elected this season: who wins a Gold Glove or a Silver Slugger, for the best fielder or hitter at his position?
\echo And how many awards of any kind does he win? Features are what was known before the season: his pay, age, experience,
\echo body, and his awards in earlier seasons. Those of the season itself are the answer, and no feature.
\echo (The awards of the Sporting News are left out: from 2008 to 2015 the data lack most of them.)
\echo

CREATE TABLE record AS
SELECT s.playerid, s.yearid, s.pay, s.age, s.experience,
       coalesce(bool_or(a.yearid = s.yearid AND a.awardid IN ('Gold Glove', 'Silver Slugger')), false) AS elected,
       count(*) FILTER (WHERE a.yearid = s.yearid) AS awards,
       count(*) FILTER (WHERE a.yearid = s.yearid - 1) AS last_season,
       count(*) FILTER (WHERE a.yearid BETWEEN s.yearid - 3 AND s.yearid - 1) AS last_three,
       count(*) FILTER (WHERE a.yearid < s.yearid) AS before
FROM pay s
LEFT JOIN awardsplayers a ON a.playerid = s.playerid AND a.yearid <= s.yearid AND a.awardid NOT LIKE 'TSN %'
GROUP BY s.playerid, s.yearid, s.teamid, s.pay, s.age, s.experience;

CREATE VIEW chance AS
SELECT r.playerid, r.elected, r.awards, r.yearid, r.yearid >= 2011 AS holdout, r.pay, r.age, r.experience, r.last_season, r.last_three, r.before,
       p.weight, p.height, p.bats, p.throws
FROM record r
JOIN people p ON p.playerid = r.playerid;

\timing on
-- A boolean target: objective binary.
INSERT INTO model SELECT 'elected', btml.boost_fit('SELECT * FROM baseball.chance', target => 'elected', holdout => 'holdout',
    features => '{pay,age,experience,last_season,last_three,before,weight,height,bats,throws}', trees => 50, max_leaves => 8);
INSERT INTO model SELECT 'awards', btml.boost_fit('SELECT * FROM baseball.chance', target => 'awards', objective => 'poisson', holdout => 'holdout',
    features => '{pay,age,experience,last_season,last_three,before,weight,height,bats,throws}', trees => 50, max_leaves => 8);
INSERT INTO model SELECT 'quantile ' || alpha, btml.boost_fit('baseball.career', target => 'pay', objective => 'quantile', alpha => alpha,
    holdout => 'holdout', trees => 50, max_leaves => 8) FROM unnest('{0.05,0.95}'::float8[]) alpha;
\timing off

\echo
\echo The seasons since 2011, beside a forecast that gives everybody the share of the seasons before:
CREATE TABLE forecast AS
SELECT c.playerid, c.yearid, c.elected, c.awards, c.last_season, btml.predict(e.fit, c.*) AS probability, btml.predict(a.fit, c.*) AS expected
FROM chance c, model e, model a WHERE c.holdout AND e.name = 'elected' AND a.name = 'awards';
CREATE TABLE base AS SELECT avg(elected::int)::float8 AS share, avg(awards)::float8 AS mean FROM chance WHERE NOT holdout;
SELECT forecast, count(*) AS players, count(*) FILTER (WHERE elected) AS elected, round(btml.log_loss(elected, p)::numeric, 4) AS log_loss,
       round(btml.auc(elected, p)::numeric, 3) AS auc, round(btml.average_precision(elected, p)::numeric, 3) AS average_precision
FROM (SELECT 'trees' AS forecast, elected, probability AS p FROM forecast UNION ALL SELECT 'base rate', elected, share FROM forecast, base) f
GROUP BY forecast ORDER BY forecast DESC;

\echo Are the probabilities true? Of those who were given so much, how many were elected:
SELECT width_bucket(probability, '{0.01,0.03,0.1,0.2,0.4}'::float8[]) + 1 AS bin, count(*) AS players,
       round(avg(probability)::numeric, 3) AS predicted, round(avg(elected::int), 3) AS observed,
       round(sqrt(avg(probability) * (1 - avg(probability)) / count(*))::numeric, 3) AS std_error_by_chance
FROM forecast GROUP BY bin ORDER BY bin;
\echo Nearly: the likeliest are a little too sure. (contrib_docs/metrics.md recalibrates probabilities in plain SQL.)

\echo
\echo Who had won anything the season before, and as many of the likeliest of each season:
SELECT pick, count(*) AS picks, count(*) FILTER (WHERE elected) AS elected, round(avg(elected::int), 2) AS share
FROM (SELECT elected, last_season > 0 AS won, count(*) FILTER (WHERE last_season > 0) OVER (PARTITION BY yearid) AS winners,
             row_number() OVER (PARTITION BY yearid ORDER BY probability DESC, playerid) AS place FROM forecast) f,
     LATERAL (VALUES ('winners of last season', won), ('likeliest by the trees', place <= winners)) v(pick, chosen)
WHERE chosen GROUP BY pick ORDER BY pick DESC;

\echo Awards of the season, counted: the sum, and the Poisson deviance beside that of the mean of the seasons before
SELECT sum(awards) AS awards, round(sum(expected)::numeric) AS expected, round(btml.poisson_deviance(awards, expected)::numeric, 3) AS trees,
       round(btml.poisson_deviance(awards, mean)::numeric, 3) AS mean
FROM forecast, base;

\echo Nine of ten should earn between the quantiles of 5 % and 95 %. Those who did, of the seasons that were trained on and not:
SELECT CASE WHEN holdout THEN 'since 2011' ELSE 'before' END AS seasons, count(*) AS players,
       round(btml.coverage(pay, lower, upper)::numeric, 3) AS coverage, round(avg((pay < lower)::int), 3) AS below,
       round(avg((pay > upper)::int), 3) AS above, round(exp(avg(upper - lower))::numeric, 1) AS factor_between
FROM (SELECT c.pay, c.holdout, btml.predict(low.fit, c.*) AS lower, btml.predict(high.fit, c.*) AS upper
      FROM career c, model low, model high WHERE low.name = 'quantile 0.05' AND high.name = 'quantile 0.95') i
GROUP BY holdout ORDER BY holdout;
