# Fits with strategy => 'distributed': two servers train on their partitions of a table where the rows are.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use Test::More;

my $node = new_cluster('coordinator');
plan skip_all => 'needs postgres_fdw'
  unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
my @workers = map { new_cluster("worker_$_") } 0, 1;
my $partitions = 6;

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE analyst LOGIN;
CREATE EXTENSION postgres_fdw;
CREATE TABLE here AS SELECT i AS id, i * 37 % 1001 / 7.0::float8 AS x, (i % 13)::smallint AS n, (i % 17)::numeric / 3 AS share,
    nullif(chr(97 + i * 17 % 6), 'f') AS kind, i % 5 = 0 AS flag, i % 7 = 0 AS held, 1 + i % 3 AS w,
    nullif(i * 37 % 1001 / 7.0 * CASE i * 17 % 6 WHEN 0 THEN 2 ELSE -1 END + i % 13, 0) AS y, i % 3 = 0 AND i % 7 > 2 AS b,
    date '2020-02-28' + i % 31 AS day, time '00:00' + i % 53 * interval '7 min' AS clock, timestamp '1969-12-31' + i % 41 * interval '1 h' AS moment,
    timestamptz 'epoch' - i % 43 * interval '1 s' AS instant, i % 47 * interval '1 day 1 s' AS lasting,
    CASE WHEN i % 11 > 0 THEN ARRAY[i * 37 % 1001 / 7.0, nullif(i % 13, 4), i % 59]::real[] END AS pair,
    ARRAY[i % 7, i * 37 % 1001 / 3.0]::numeric[] AS shares
FROM generate_series(1, 6000) i;
CREATE TABLE there (LIKE here) PARTITION BY HASH (id);
-- Everything that a model says but how its rows were held.
CREATE FUNCTION facts(model btml.model) RETURNS text LANGUAGE sql AS $$
    SELECT md5((SELECT string_agg(t::text, ',') FROM btml.trees(model) t) || (SELECT string_agg(l::text, ',') FROM btml.training_log(model) l)
        || (btml.summary(model) - 'strategy' - 'strategy_reason' - 'seconds' - 'timings' - 'options' - 'tables' - 'calibration')::text) $$;
SQL
for my $i (0, 1)
{
	my ($host, $port) = ($workers[$i]->host, $workers[$i]->port);
	$workers[$i]->safe_psql('postgres', 'CREATE ROLE analyst LOGIN');
	$node->safe_psql('postgres', <<"SQL");
CREATE SERVER worker_$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'btml');
CREATE USER MAPPING FOR CURRENT_USER SERVER worker_$i;
CREATE USER MAPPING FOR analyst SERVER worker_$i OPTIONS (user 'analyst', password_required 'false');
SQL
}
my $columns = $node->safe_psql('postgres', "SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = 'here'::regclass AND attnum > 0");
for my $part (0 .. $partitions - 1)
{
	my $i = $part % 2;
	$workers[$i]->safe_psql('postgres', "CREATE TABLE part_$part ($columns); GRANT SELECT ON part_$part TO analyst");
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE there_$part PARTITION OF there FOR VALUES WITH (MODULUS $partitions, REMAINDER $part)
	    SERVER worker_$i OPTIONS (table_name 'part_$part')");
}
$node->safe_psql('postgres', 'INSERT INTO there SELECT * FROM here');

my ($session) = session($node);
$session->query('SET client_min_messages = warning');

# Says whether a fit over the servers gives what it gives here.
sub same
{
	my ($asked, $arguments) = @_;
	my @facts = map {
		my ($table, $strategy) = @$_;
		scalar $asked->query("SELECT facts(btml.boost_fit('SELECT x, n, share, kind, flag, held, w, y, b FROM $table', $arguments, strategy => '$strategy'))")
	} ['here', 'enumerate'], ['there', 'distributed'];
	return $facts[0] =~ /^[0-9a-f]{32}$/ && $facts[0] eq $facts[1];
}

for my $arguments (
	q('y', trees => 12), q('y', trees => 6, exclude => '{kind,flag}', max_bins => 17), q('b', exclude => '{y}', holdout => 'held', early_stopping => 3),
	q('y', trees => 6, weight => 'w', holdout => 'held'), q('y', trees => 4, "offset" => 'share'), q('y', trees => 6, criterion => 'mse_sum'),
	q('y', trees => 6, feature_fraction => 0.5, seed => 3), q('y', trees => 6, increasing => '{x}', decreasing => '{n}'),
	q('y', trees => 6, objective => 'huber', weight => 'w'), q('y', trees => 6, objective => 'quantile', alpha => 0.9),
	q('b', trees => 12, exclude => '{y}'), q('b', trees => 6, exclude => '{y}', balanced => true, holdout => 'held', positive => 'false'),
	q('kind', trees => 6), q('kind', trees => 4, class_weights => '{"a": 3}', holdout => 'held'), q('kind', trees => 4, balanced => true),
	q('n', trees => 3, objective => 'multiclass'), q('n', trees => 6, objective => 'poisson'), q('share', trees => 6, objective => 'tweedie', categorical => '{kind}'))
{
	ok(same($session, $arguments), "boost_fit($arguments)");
}
is($session->query(q{SELECT facts(btml.tree_fit('SELECT n, kind, y FROM there', 'y', strategy => 'distributed')) = facts(btml.tree_fit('SELECT n, kind, y FROM here', 'y'))}),
	't', 'one tree with a candidate for every value');
is($session->query(<<'SQL'), 't', 'four trees and three that continue from them');
SELECT facts(btml.boost_fit('SELECT x, kind, y FROM there', 'y', trees => 3, strategy => 'distributed',
        start => btml.boost_fit('SELECT x, kind, y FROM there', 'y', trees => 4, strategy => 'distributed')))
    = facts(btml.boost_fit('SELECT x, kind, y FROM here', 'y', trees => 7))
SQL
is($session->query(<<'SQL'), 't', 'two labels that are padded');
SELECT facts(btml.boost_fit($$ SELECT x, n, kind::character(3) AS t FROM there WHERE kind IN ('a', 'b') $$, 't',
        trees => 4, positive => 'a', strategy => 'distributed'))
    = facts(btml.boost_fit($$ SELECT x, n, kind::character(3) AS t FROM here WHERE kind IN ('a', 'b') $$, 't',
        trees => 4, positive => 'a'))
SQL
$session->query(<<'SQL');
CREATE SCHEMA evil;
CREATE FUNCTION evil.same(tid, tid) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $$an operator of the search path was called$$; END';
CREATE OPERATOR evil.= (LEFTARG = tid, RIGHTARG = tid, FUNCTION = evil.same);
SQL
for my $setting ('standard_conforming_strings = off', 'search_path = pg_catalog, public', 'search_path = evil, pg_catalog, public')
{
	$session->query("SET $setting");
	is($session->query(q{SELECT facts(btml.boost_fit('SELECT x, y FROM public.there -- all of it', 'y', trees => 2, strategy => 'distributed'))
	    = facts(btml.boost_fit('SELECT x, y FROM public.here;', 'y', trees => 2))}), 't', $setting);
	$session->query('RESET ALL; SET client_min_messages = warning');
}
is($session->query(qq{SELECT facts(btml.boost_fit('SELECT x, y FROM there ; -- all of it\n/* ; */ ', 'y', trees => 2, strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT x, y FROM here', 'y', trees => 2))}), 't', 'comments behind a semicolon');
$node->safe_psql('postgres', 'ANALYZE there');
$session->query('CREATE VIEW doubled AS SELECT x * 2 AS twice, kind, y FROM there WHERE n > 3');
is($session->query(q{SELECT facts(btml.boost_fit('doubled', 'y', trees => 5, strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT x * 2 AS twice, kind, y FROM here WHERE n > 3', 'y', trees => 5))}), 't', 'a view with a condition');
is($session->query(<<'SQL'), 't', 'elements of arrays');
SELECT facts(btml.boost_fit('SELECT pair, kind, shares, y FROM there', 'y', trees => 6, increasing => '{shares}', strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT pair, kind, shares, y FROM here', 'y', trees => 6, increasing => '{shares}'))
SQL
is($session->query(<<'SQL'), 't', 'elements of arrays with labels and weights, after a start');
SELECT facts(btml.boost_fit('SELECT shares, w, pair, b FROM there', 'b', trees => 3, weight => 'w', strategy => 'distributed',
        start => btml.boost_fit('SELECT shares, w, pair, b FROM there', 'b', trees => 3, weight => 'w', strategy => 'distributed')))
    = facts(btml.boost_fit('SELECT shares, w, pair, b FROM here', 'b', trees => 6, weight => 'w'))
SQL
is($session->query(<<'SQL'), 't', 'parameters of a source');
SELECT facts(btml.boost_fit('SELECT x * $2 AS twice, kind, y FROM there WHERE n > $1 AND kind IS DISTINCT FROM $3', 'y', trees => 5,
        strategy => 'distributed', args => ARRAY['3', '2', $$b'; --\$1$$]))
    = facts(btml.boost_fit('SELECT x * 2 AS twice, kind, y FROM here WHERE n > 3', 'y', trees => 5))
SQL
# Joins of tables whose partitions are pairs on the same servers.
$node->safe_psql('postgres', 'CREATE TABLE more_here AS SELECT i * 7 % 5000 AS id, i % 23 AS z FROM generate_series(1, 7000) i');
$node->safe_psql('postgres', "CREATE TABLE $_ (id int, z int) PARTITION BY HASH (id)") for 'more_there', 'crossed';
for my $part (0 .. $partitions - 1)
{
	my ($i, $other) = ($part % 2, 1 - $part % 2);
	$workers[$i]->safe_psql('postgres', "CREATE TABLE more_$part (id int, z int)");
	$workers[$other]->safe_psql('postgres', "CREATE TABLE crossed_$part (id int, z int)");
	$node->safe_psql('postgres', <<"SQL");
CREATE FOREIGN TABLE more_there_$part PARTITION OF more_there FOR VALUES WITH (MODULUS $partitions, REMAINDER $part) SERVER worker_$i OPTIONS (table_name 'more_$part');
CREATE FOREIGN TABLE crossed_$part PARTITION OF crossed FOR VALUES WITH (MODULUS $partitions, REMAINDER $part) SERVER worker_$other;
SQL
}
$node->safe_psql('postgres', 'INSERT INTO more_there SELECT * FROM more_here');
for my $join ('there t JOIN more_there m USING (id)', 'there t LEFT JOIN more_there m ON m.id = t.id AND m.z > 3', 'there t, more_there m WHERE m.z < 9 AND t.id = m.id',
	'more_there m RIGHT JOIN there t ON t.id = m.id', '(more_there m JOIN more_there o USING (id)) RIGHT JOIN there t ON t.id = m.id AND o.z > 2',
	'there t LEFT JOIN more_there m ON m.z = t.n WHERE m.id = t.id', 'there t JOIN more_there m USING (id) JOIN there u USING (id)')
{
	(my $local = $join) =~ s/there/here/g;
	is($session->query(qq{SELECT facts(btml.boost_fit('SELECT t.x, t.n, t.kind, m.z, t.y FROM $join', 'y', trees => 3, strategy => 'distributed'))
	    = facts(btml.boost_fit('SELECT t.x, t.n, t.kind, m.z, t.y FROM $local', 'y', trees => 3, strategy => 'enumerate'))}), 't', "a join: $join");
}
# The unit of a join: each row of the target's table weighs 1 over its repeats, which all are on its server but for those of no row.
for my $table ('thing', 'event')
{
	my $fields = $table eq 'thing' ? 'id int, x float8, kind text, y float8, w float8, held boolean' : 'id int, z float8';
	$node->safe_psql('postgres', "CREATE TABLE ${table}_here ($fields); CREATE TABLE ${table}_there ($fields) PARTITION BY HASH (id)");
	for my $part (0 .. $partitions - 1)
	{
		$workers[ $part % 2 ]->safe_psql('postgres', "CREATE TABLE ${table}_$part ($fields)");
		$node->safe_psql('postgres', "CREATE FOREIGN TABLE ${table}_there_$part PARTITION OF ${table}_there FOR VALUES WITH (MODULUS $partitions, REMAINDER $part)
		    SERVER worker_" . $part % 2 . " OPTIONS (table_name '${table}_$part')");
	}
}

# Things, some of which have no target or equal another one, with up to `most` events; other events are of no thing, or of none that has an id.
sub fill
{
	my ($seed, $most) = @_;
	$node->safe_psql('postgres', <<"SQL");
SELECT setseed($seed / 100.0);
TRUNCATE thing_here, event_here, thing_there, event_there;
INSERT INTO thing_here SELECT i, floor(random() * 20), chr(97 + floor(random() * 3)::int), nullif(floor(random() * 40), 13) + i % 3, floor(1 + random() * 3), random() < 0.2
FROM generate_series(1, 400) i;
INSERT INTO thing_here SELECT * FROM thing_here WHERE id % 11 = 0;
INSERT INTO event_here SELECT nullif(id, 7), floor(random() * 30) FROM (SELECT id, floor(random() * ($most + 1))::int AS events FROM generate_series(1, 460) id) i, generate_series(1, events);
INSERT INTO thing_there SELECT * FROM thing_here ORDER BY random();
INSERT INTO event_there SELECT * FROM event_here ORDER BY random();
SQL
	return;
}

my ($telling) = session($node);
# Says what a fit over the servers and one here give, and what they tell.
sub both
{
	my ($source, $arguments) = @_;
	my @both;
	for my $strategy ('distributed', 'enumerate')
	{
		(my $of = $source) =~ s/\b(thing|event|met)\b/$1 . ($strategy eq 'distributed' ? '_there' : '_here')/ge;
		$telling->{stderr} = '';
		my $facts = $telling->query("SELECT facts(btml.boost_fit('$of', $arguments, trees => 4, min_leaf_rows => 3, strategy => '$strategy'))");
		(my $told = $telling->{stderr}) =~ s/_t?here//g;
		push @both, join "\n", $facts, $told =~ /(NOTICE:  the join.*|ERROR.*)/g;
	}
	$telling->{stderr} = '';
	return @both;
}

my $events = 'SELECT t.y, t.x, t.kind, e.z FROM thing t JOIN event e USING (id)';
my @sources = (
	[ $events, q('y') ], [ $events, q('y', objective => 'absolute') ], [ $events, q('y', objective => 'poisson') ], [ $events, q('kind', balanced => true) ],
	[ 'SELECT t.y, t.x, e.z, t.w FROM thing t JOIN event e USING (id)', q('y', weight => 'w') ],
	[ 'SELECT t.y, t.x, e.z, t.held FROM event e JOIN thing t USING (id)', q('y', holdout => 'held', objective => 'huber') ],
	[ 'SELECT t.y, t.x, e.z, f.z AS other FROM event e JOIN thing t USING (id) JOIN event f USING (id)', q('y') ],
	[ 'SELECT t.y, t.x, e.z FROM thing t LEFT JOIN event e ON e.id = t.id AND e.z > 20', q('y') ],
	[ 'SELECT t.y + t.x AS y, e.z FROM event e LEFT JOIN thing t ON t.id = e.id AND t.x < 10', q('y') ],
	# All events without a thing repeat one row, on both servers.
	[ 'SELECT CASE WHEN t.y IS NULL THEN 0 ELSE t.y END AS y, e.z FROM event e LEFT JOIN thing t ON t.id = e.id AND t.x < 10', q('y') ],
	[ 'SELECT CASE WHEN t.y IS NULL THEN 0 ELSE t.y END AS y, CASE WHEN t.w IS NULL THEN 2 ELSE t.w END AS w, e.z FROM event e LEFT JOIN thing t USING (id)', q('y', weight => 'w') ],
	[ 'SELECT z, y + 1 AS y FROM met', q('y') ], [ 'SELECT e.z AS y, t.x, t.kind FROM thing t JOIN event e USING (id)', q('y') ]);
$telling->query('CREATE VIEW met_here AS SELECT t.y * 2 AS y, t.x, e.z FROM thing_here t JOIN event_here e USING (id);
	CREATE VIEW met_there AS SELECT t.y * 2 AS y, t.x, e.z FROM thing_there t JOIN event_there e USING (id)');
for my $seed (1 .. 4)
{
	fill($seed, $seed < 4 ? 3 * $seed : 1);
	for my $fit (@sources)
	{
		my ($source, $arguments) = @$fit;
		for my $unit ('join', 'target')
		{
			my ($there, $here) = both($source, "$arguments, unit => '$unit'");
			is($there, $here, "seed $seed, unit => '$unit': $source, $arguments");
			($unit eq 'target' ? \&unlike : \&like)->($here, qr/^[0-9a-f]{32}\nNOTICE:  the join has each row of thing t/, 'which tells of repeats') if $seed == 1 && $fit == $sources[0];
		}
	}
}
is($session->query(q{SELECT facts(btml.tree_fit('SELECT t.y, t.x, e.z FROM thing_there t JOIN event_there e USING (id)', 'y', unit => 'target', strategy => 'distributed'))
    = facts(btml.tree_fit('SELECT t.y, t.x, e.z FROM thing_here t JOIN event_here e USING (id)', 'y', unit => 'target', strategy => 'enumerate'))}), 't', 'one tree by the unit of a join');
is($session->query(q{SELECT round(sum(rows)::numeric, 6) = (SELECT count(*) FROM thing_here t WHERE y IS NOT NULL AND EXISTS (SELECT FROM event_here e WHERE e.id = t.id))
    FROM btml.trees(btml.tree_fit('SELECT t.y, t.x, e.z FROM thing_there t JOIN event_there e USING (id)', 'y', unit => 'target', strategy => 'distributed')) WHERE node = 0}),
	't', 'which has as many rows as the table of the target');
is($session->query(q{SELECT facts(btml.boost_fit('met_there', 'y', trees => 3, unit => 'target', strategy => 'distributed',
        start => btml.boost_fit('met_there', 'y', trees => 4, unit => 'target', strategy => 'distributed')))
    = facts(btml.boost_fit('met_here', 'y', trees => 7, unit => 'target', strategy => 'enumerate'))}), 't', 'trees by the unit of a join that continue from others');
# A foreign table may stand for several tables, in which rows have the same ctid.
$workers[0]->safe_psql('postgres', 'CREATE TABLE several (id int, x float8, y float8); CREATE TABLE one_of_several () INHERITS (several);
    CREATE TABLE several_events (id int, z float8)');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE several (id int, x float8, y float8) PARTITION BY LIST (id);
CREATE TABLE several_events (id int, z float8) PARTITION BY LIST (id);
CREATE FOREIGN TABLE several_there PARTITION OF several DEFAULT SERVER worker_0 OPTIONS (table_name 'several');
CREATE FOREIGN TABLE several_events_there PARTITION OF several_events DEFAULT SERVER worker_0 OPTIONS (table_name 'several_events');
INSERT INTO several SELECT i, i % 7, i % 5 FROM generate_series(1, 200) i;
INSERT INTO several_events SELECT i % 200, i FROM generate_series(1, 500) i;
SQL
my $several = q(btml.boost_fit('SELECT s.y, s.x, e.z FROM several_events e JOIN several s USING (id)', 'y', trees => 2, unit => 'target', strategy => 'distributed'));
is($session->query("SELECT btml.summary($several) ->> 'rows'"), 498, 'a foreign table over a parent without rows in others');
$workers[0]->safe_psql('postgres', 'INSERT INTO one_of_several SELECT id + 200, x, y FROM ONLY several');
fails($session, "SELECT $several", qr/servers cannot tell which rows of the join repeat a row of the target's table.*Partition "several_there" stands for several tables on its server/s, 'one over several tables');
(my $joined = $several) =~ s/unit => 'target'/unit => 'join'/;
is($telling->query("SELECT btml.summary($joined) ->> 'rows'"), 498, 'which has a model by rows of the join');
unlike($telling->{stderr}, qr/the join has each row/, 'and no wrong number of repeats is told');
is($session->query(q{SELECT facts(btml.boost_fit('SELECT x, y FROM there WHERE id = 1 OR id = 4', 'y', trees => 2, min_leaf_rows => 1, strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT x, y FROM here WHERE id = 1 OR id = 4', 'y', trees => 2, min_leaf_rows => 1))}), 't', 'servers without rows');
is($session->query(q{SELECT facts(btml.boost_fit('SELECT day, clock, moment, instant, lasting, y FROM there', 'y', trees => 9, strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT day, clock, moment, instant, lasting, y FROM here', 'y', trees => 9))}), 't', 'dates, times and intervals');
like($session->query(q{SELECT btml.summary(btml.boost_fit('there', 'y', trees => 1, strategy => 'distributed')) ->> 'strategy_reason'}),
	qr/^the rows of 6 partitions stay in 2 backends of servers, asked [0-9]+ times$/, 'the summary tells where the rows were');

# What is shipped does not depend on what PostgreSQL takes for cheaper.
$node->safe_psql('postgres', "ALTER SERVER worker_$_ OPTIONS (ADD use_remote_estimate 'true')") for 0, 1;
ok(same($session, q('y', trees => 3)), 'estimates of the other servers');
is($session->query(q{SELECT facts(btml.boost_fit('SELECT t.x, m.z, t.y FROM there t JOIN more_there m USING (id)', 'y', trees => 3, strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT t.x, m.z, t.y FROM here t JOIN more_here m USING (id)', 'y', trees => 3, strategy => 'enumerate'))}), 't', 'and a join');
$node->safe_psql('postgres', "ALTER SERVER worker_$_ OPTIONS (DROP use_remote_estimate)") for 0, 1;
$workers[$_ % 2]->safe_psql('postgres', "CREATE TABLE range_$_ (id int, x float8, y float8)") for 0 .. 2;
$node->safe_psql('postgres', 'CREATE TABLE ranges (id int, x float8, y float8) PARTITION BY RANGE (id)');
for my $part (0 .. 2)
{
	my ($from, $to, $i) = (1000 * $part, 1000 * ($part + 1), $part % 2);
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE range_$part PARTITION OF ranges FOR VALUES FROM ($from) TO ($to) SERVER worker_$i");
}
$node->safe_psql('postgres', 'INSERT INTO ranges SELECT i, i % 7, sin(i) FROM generate_series(1, 900) i; ANALYZE ranges');
my $of_ranges = q{= facts(btml.boost_fit('SELECT (i % 7)::float8 AS x, sin(i) AS y FROM generate_series(1, 900) i', 'y', trees => 2))};
is($session->query("SELECT facts(btml.boost_fit('SELECT x, y FROM ranges', 'y', trees => 2, strategy => 'distributed')) $of_ranges"), 't', 'partitions that ANALYZE found empty');
# The partition of a server that is gone, and rows that do not need it.
$node->safe_psql('postgres', <<'SQL');
CREATE SERVER gone FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '/nowhere', dbname 'postgres', extensions 'btml');
CREATE USER MAPPING FOR CURRENT_USER SERVER gone;
CREATE FOREIGN TABLE range_3 PARTITION OF ranges FOR VALUES FROM (3000) TO (4000) SERVER gone;
SQL
fails($session, q{SELECT btml.boost_fit('ranges', 'y', strategy => 'distributed')}, qr/could not connect to server "gone"/, 'a server that is gone');
is($session->query("SELECT facts(btml.boost_fit('SELECT x, y FROM ranges WHERE id < 3000', 'y', trees => 2, strategy => 'distributed')) $of_ranges"), 't', 'which a condition leaves out');

# 32 partitions; numerics that are infinite, and one next to 0 that float8 lacks.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE odd_here (id int, x float8, n numeric, t text);
INSERT INTO odd_here SELECT i, i % 19, CASE i % 50 WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN '1e-400' ELSE (i % 23)::numeric END, (ARRAY['u', 'U', 'v', 'V'])[1 + i * 7 % 23 / 6]
FROM generate_series(1, 3000) i;
CREATE TABLE odd_there (LIKE odd_here) PARTITION BY HASH (id);
SQL
$_->safe_psql('postgres', join ';', map { "CREATE TABLE odd_$_ (id int, x float8, n numeric, t text)" } 0 .. 31) for @workers;
$node->safe_psql('postgres', join ';', map { "CREATE FOREIGN TABLE odd_$_ PARTITION OF odd_there FOR VALUES WITH (MODULUS 32, REMAINDER $_) SERVER worker_" . $_ % 2 } 0 .. 31);
$node->safe_psql('postgres', 'INSERT INTO odd_there SELECT * FROM odd_here');
for my $target ('t', 'x')
{
	is($session->query("SELECT facts(btml.boost_fit('SELECT x, n, t FROM odd_there', '$target', trees => 3, exclude => '{" . ($target eq 't' ? '' : 't') . "}', strategy => 'distributed'))
	    = facts(btml.boost_fit('SELECT x, n, t FROM odd_here', '$target', trees => 3, exclude => '{" . ($target eq 't' ? '' : 't') . "}'))"), 't', "32 partitions, target $target");
}

# Errors are those of the fit, and name what cannot be distributed.
sub fit_fails
{
	my ($source, $arguments, $message, $name) = @_;
	fails($session, "SELECT btml.boost_fit('$source', $arguments, strategy => 'distributed')", $message, $name);
	return;
}
fit_fails('there', q('y', row_fraction => 0.5), qr/row_fraction is not supported/, 'row_fraction');
fit_fails('there', q('y', holdout => 'held', metric => 'mae'), qr/metric is not supported/, 'metric');
is($session->query(q{SELECT facts(btml.boost_fit('SELECT x, y FROM there', 'y', trees => 2, unit => 'target', strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT x, y FROM here', 'y', trees => 2, unit => 'target'))}), 't', 'the unit of a table');
fit_fails('there', q('x', objective => 'multiclass'), qr/labels that are numbers must be whole/, 'labels that are fractions');
fit_fails('there', q('kind', class_weights => '{"z": 2}'), qr/class_weights names the label "z"/, 'a label that no row has');
fit_fails('SELECT kind AS y, x FROM there WHERE kind IS NULL', q('y'), qr/no rows to train on/, 'no labels');
fit_fails(q(SELECT ''a'' || left(kind, 0) AS y, x FROM there), q('y'), qr/label "a"/, 'one label');
fit_fails('there', q('y', categorical => '{n}'), qr/categories of type smallint, in column "n", cannot be shipped/, 'categories that are numbers');
$_->safe_psql('postgres', "CREATE TYPE mood AS ENUM ('b', 'a')") for $node, @workers;
fit_fails('SELECT y, CASE WHEN x > 3 THEN \'\'a\'\' ELSE \'\'b\'\' END::mood AS mood FROM there', q('y'), qr/would be read here/, 'enums, which postgres_fdw does not ship');
fit_fails('SELECT y, pair[1:1 + n % 2] AS part FROM there', q('y'), qr/column "part" has an array of length \d, another row has one of \d/, 'arrays of two lengths');
fit_fails('SELECT y, CASE WHEN n > 3 THEN shares[9:9] ELSE shares END AS part FROM there', q('y'), qr/column "part" has an empty array/, 'an empty array');
fit_fails('SELECT y, ARRAY[shares, shares] AS part FROM there', q('y'), qr/column "part" has an array of 2 dimensions/, 'arrays of two dimensions');
fit_fails('SELECT y, pair FROM there WHERE id % 11 = 0', q('y'), qr/column "pair" is NULL in all rows/, 'arrays that are NULL');
fit_fails('SELECT y, pair FROM there WHERE id < 0', q('y'), qr/no rows to train on/, 'no arrays');
fit_fails('SELECT y, pair, pair[2] AS "pair[1]" FROM there', q('y'), qr/two features are called "pair\[1\]"/, 'an element and a column of one name');
fit_fails('SELECT y, now() AS at FROM there', q('y'), qr/would be read here/, 'the time of a transaction');
fit_fails('here', q('y'), qr/table "here" is not partitioned over other servers/, 'a table of this server');
fit_fails('SELECT x, y FROM ONLY there', q('y'), qr/ONLY "there" has no rows of its partitions/, 'a table without its partitions');
fit_fails('SELECT 1 AS x, 2 AS y', q('y'), qr/the source reads no table/, 'no table');
fit_fails('SELECT y, x FROM there JOIN here h USING (id, x, y)', q('y'), qr/table "here" is not partitioned over other servers/, 'a join');
fit_fails('SELECT t.y, m.z FROM there t JOIN more_there m ON t.id = m.z', q('y'), qr/are not joined by equality of their partition keys/, 'a join of other columns');
fit_fails('SELECT t.y, m.z FROM there t JOIN more_there m ON t.id = m.id OR m.z = 3', q('y'), qr/are not joined by equality of their partition keys/, 'a join by one or the other');
fit_fails('SELECT t.y, m.z FROM there t JOIN more_there m USING (id), there u', q('y'), qr/are not joined by equality of their partition keys/, 'one table of three without a join');
fit_fails("SELECT t.y, m.z FROM (there t JOIN there u ON t.n = u.n AND t.id < 50 AND u.id < 50) LEFT JOIN more_there m ON $_", q('y'), qr/are not joined by equality of their partition keys/,
	"an outer join on $_") for 't.id = u.id AND m.id = t.id', 'm.id = t.id AND m.id = u.id';
fit_fails('SELECT t.y, m.z FROM there t JOIN crossed m USING (id)', q('y'), qr/would be read here/, 'partitions on different servers');
fit_fails('SELECT t.y, t.x FROM there t WHERE EXISTS (SELECT FROM more_there m WHERE m.id = t.id)', q('y'), qr/are not joined by equality of their partition keys/, 'a sub-query');
fit_fails('SELECT t.y, m.z FROM (SELECT id, z FROM more_there) m JOIN there t USING (id)', q('y'), qr/are not joined by equality of their partition keys/, 'a table in a sub-query');
$session->query('CREATE TABLE other_bounds (id int, z int) PARTITION BY HASH (id); CREATE TABLE other_key (id int, z int) PARTITION BY LIST (id)');
fit_fails("SELECT t.y, m.z FROM there t JOIN $_ m USING (id)", q('y'), qr/tables "there" and "$_" are not partitioned alike/, $_) for 'other_bounds', 'other_key';
fit_fails('SELECT y, x FROM there WHERE random() < 2', q('y'), qr/would be read here/, 'what is not shipped');
fit_fails('WITH c AS MATERIALIZED (SELECT * FROM there) SELECT x, y FROM c', q('y'), qr/would be read here/, 'a common table expression that runs by itself');
fit_fails('SELECT y, x FROM there WHERE x > 1000', q('y'), qr/no rows to train on/, 'no rows');
fit_fails('SELECT NULL::float8 AS y, x FROM there', q('y'), qr/no rows to train on/, 'no targets');
fit_fails('SELECT y, x, -w AS w FROM there', q('y', weight => 'w'), qr/weight/, 'negative weights');
fit_fails('there', q('y', objective => 'gamma'), qr/target value -[0-9.]+ is not valid with objective => 'gamma'/, 'targets out of range');
fit_fails('there', q('y', trees => 3, start => btml.boost_fit('SELECT x, y FROM here', 'x', trees => 1)), qr/feature "y" of start/, 'another start');
fit_fails('SELECT id, y FROM there', qq('y', trees => 1, max_leaves => 1500, min_leaf_rows => 1, max_bins => 0), qr/more than 1023 distinct values/, 'many values without bins');
fit_fails('SELECT id, y FROM there', q('y', trees => 1, start => btml.boost_fit('SELECT id, y FROM here', 'y', trees => 1, max_leaves => 1500, min_leaf_rows => 1, max_bins => 0)),
	qr/feature "id" has [0-9]+ bins, too many/, 'a start with many thresholds');
fails($session, q{SELECT btml.cross_validate('there', 'y', options => '{"strategy": "distributed"}')}, qr/strategy/, 'folds are not distributed');

# Fits that choose by themselves: how many rows there are is what ANALYZE found.
sub chooses
{
	my ($source, $arguments, $strategy, $told, $name, %how) = @_;
	my $call = "SELECT btml.summary(btml.boost_fit('$source', $arguments, trees => 2)) ->> 'strategy'";
	my (undef, $chosen, $notices) = $node->psql('postgres', ($how{before} // '') . $call, extra_params => $how{psql} // []);
	is($chosen, $strategy, $name);
	if ($told) { like($notices, $told, "$name: what is told"); }
	else { unlike($notices, qr/fetched/, "$name: nothing is told"); }
	return;
}
chooses('there', q('y'), 'enumerate', undef, 'few rows are fetched');
chooses('SELECT id, x, n, share, kind, flag, held, w, y, b, day, clock, moment, instant, lasting FROM there', q('y'), 'distributed', undef,
	'few rows that do not fit', before => q(SET btml.memory_limit = '600kB';));
$node->safe_psql('postgres', 'ANALYZE more_there');
$node->safe_psql('postgres', q{UPDATE pg_class SET reltuples = 2e6 WHERE relname ~ '^there_'});
chooses('SELECT x, y FROM there', q('y'), 'distributed', undef, 'many rows');
chooses('SELECT x, y, held FROM there', q('y', holdout => 'held'), 'enumerate', qr/are fetched: held-out rows calibrate where they are fetched/, 'held-out rows that calibrate');
chooses('SELECT x, y FROM there WHERE id = 7', q('y', min_leaf_rows => 1), 'enumerate', undef, 'a few of many rows');
chooses('there', q('y', row_fraction => 0.5), 'enumerate', qr/NOTICE:  about 12000000 rows of other servers are fetched: row_fraction is not supported/,
	'an option that is not distributed');
chooses('SELECT t.x, t.y, h.n FROM there t JOIN here h USING (id)', q('y'), 'enumerate', qr/are fetched: table "h\w+" is not partitioned over other servers/, 'a join');
chooses('SELECT t.x, t.y, m.z FROM there t LEFT JOIN more_there m USING (id)', q('y'), 'distributed', undef, 'a join of partitions');
chooses('SELECT t.x, t.y, m.z FROM there t LEFT JOIN more_there m USING (id)', q('y', unit => 'target'), 'distributed', undef, 'a join of partitions whose unit is the target');
chooses('SELECT x, y FROM there WHERE random() IS NOT NULL', q('y'), 'enumerate', qr/are fetched: rows of partition "there_0" would be read here/, 'what is not shipped');
is($session->query(q{SELECT count(*) FROM btml.explain_join('SELECT * FROM there JOIN here USING (id)') l WHERE l LIKE '%Fetched from 6 foreign tables of worker_0, worker_1'}),
	1, 'explain_join tells what is fetched');

# What partitions may be on their servers.
$workers[0]->safe_psql('postgres', 'CREATE VIEW seen AS SELECT * FROM part_0');
$workers[0]->safe_psql('postgres', q{CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'});
$workers[0]->safe_psql('latin', "CREATE EXTENSION btml; CREATE TABLE part_0 ($columns); INSERT INTO part_0 (x, y) VALUES (1, 2), (2, 3)");
my ($host, $port) = ($workers[0]->host, $workers[0]->port);
$node->safe_psql('postgres', <<"SQL");
CREATE SERVER latin FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'latin', extensions 'btml');
CREATE USER MAPPING FOR CURRENT_USER SERVER latin;
CREATE TABLE seen (LIKE here) PARTITION BY LIST (flag);
CREATE TABLE read_in_latin (LIKE here) PARTITION BY LIST (flag);
CREATE FOREIGN TABLE seen_0 PARTITION OF seen DEFAULT SERVER worker_0 OPTIONS (table_name 'seen');
CREATE FOREIGN TABLE latin_0 PARTITION OF read_in_latin DEFAULT SERVER latin OPTIONS (table_name 'part_0');
UPDATE pg_class SET reltuples = 6e6 WHERE relname = 'seen_0';
SQL
fit_fails('SELECT x, y FROM seen', q('y'), qr/partition "seen_0" is no table on its server/, 'a view on the other server');
chooses('seen', q('y'), 'enumerate', qr/are fetched: partition "seen_0" is no table on its server/, 'a view on the other server');
fit_fails('SELECT x, y FROM read_in_latin', q('y'), qr/the database that leads the fit has encoding UTF8, this one LATIN1/, 'another encoding');

# A server without btml, and errors that do not repeat what was sent.
$workers[0]->safe_psql('postgres', 'CREATE DATABASE bare');
$workers[0]->safe_psql('bare', "CREATE TABLE part_0 ($columns); INSERT INTO part_0 (x, y) VALUES (1, 2), (2, 3)");
$node->safe_psql('postgres', <<"SQL");
CREATE SERVER bare FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'bare', extensions 'btml');
CREATE USER MAPPING FOR CURRENT_USER SERVER bare;
CREATE TABLE read_in_bare (LIKE here) PARTITION BY LIST (flag);
CREATE FOREIGN TABLE bare_0 PARTITION OF read_in_bare DEFAULT SERVER bare OPTIONS (table_name 'part_0');
SQL
fit_fails('SELECT x, y FROM read_in_bare', q('y'), qr/schema "btml_internal" does not exist.*Server "bare" needs the same version of btml: run CREATE EXTENSION btml/s, 'a server without btml');
my (undef, undef, $told) = $node->psql('postgres', q{SELECT btml.boost_fit('SELECT x, y FROM read_in_bare', 'y', strategy => 'distributed')});
cmp_ok(length $told, '<', 1200, 'and no long command in it');

# A server's memory limit holds there, and says so.
$workers[0]->safe_psql('postgres', "ALTER DATABASE postgres SET btml.memory_limit = '64kB'");
my ($small) = session($node);
fails($small, q{SELECT btml.boost_fit('there', 'y', strategy => 'distributed')}, qr/btml.memory_limit is 64 kB.*It is the memory of server "worker_0": raise btml.memory_limit there/s, 'a server without memory');
$workers[0]->safe_psql('postgres', 'ALTER DATABASE postgres RESET btml.memory_limit');

# Messages are trusted, so not everybody may send them.
$node->safe_psql('postgres', 'GRANT SELECT ON here, there TO analyst; ALTER TABLE here ENABLE ROW LEVEL SECURITY; ALTER TABLE there ENABLE ROW LEVEL SECURITY;
    CREATE POLICY few ON here TO analyst USING (n < 9); CREATE POLICY few ON there TO analyst USING (n < 9)');
my ($analyst) = session($node, user => 'analyst');
$analyst->query('SET client_min_messages = warning');
fails($analyst, q{SELECT btml.boost_fit('there', 'y', strategy => 'distributed')}, qr/the right to lead a fit is not granted/, 'a role without the right');
chooses('SELECT x, y FROM there', q('y'), 'enumerate', qr/are fetched: the right to lead a fit is not granted/, 'a role without the right', psql => ['-U', 'analyst']);
$node->safe_psql('postgres', 'ANALYZE there');
for my $server ($node, @workers)
{
	fails($analyst, q{SELECT btml.boost_fit('there', 'y', strategy => 'distributed')}, $server == $node ? qr/the right to lead a fit is not granted/ : qr/permission denied for.*Server "worker_[01]" must grant the right to lead a fit/s,
		'a role without the right on ' . $server->name);
	$server->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION btml_internal.hold_rows(bytea, float8[]), btml_internal.hold_rows(bytea, float8[], text[]),
	    btml_internal.exchange_messages(bytea) TO analyst');
}
ok(same($analyst, q('y', trees => 3)), 'a role with the right, under row security');
$session->query('CREATE VIEW of_owner AS SELECT x, n, kind, y FROM there; REVOKE SELECT ON there FROM analyst; GRANT SELECT ON of_owner TO analyst');
is($analyst->query(q{SELECT btml.summary(btml.boost_fit('of_owner', 'y', trees => 2, strategy => 'distributed')) ->> 'rows'}), $session->query('SELECT count(y) FROM here'),
	'a view reads with the rights of its owner');
# The names in messages to servers are not looked up with the reader's rights.
$session->query('CREATE SCHEMA hidden; ALTER TABLE there SET SCHEMA hidden');
is($analyst->query(q{SELECT btml.summary(btml.boost_fit('of_owner', 'y', trees => 2, strategy => 'distributed')) ->> 'rows'}), $session->query('SELECT count(y) FROM here'),
	'and of a schema that its reader may not use');
$session->query('ALTER TABLE hidden.there SET SCHEMA public');
fails($analyst, q{SELECT btml.boost_fit('there', 'y', strategy => 'distributed')}, qr/permission denied for table there/, 'and the table does not');
fails($session, q{SELECT btml_internal.exchange_messages('\x00')}, qr/not what was expected/, 'a message too short');
fails($session, q{SELECT btml_internal.exchange_messages(decode(repeat('00', 40), 'hex'))}, qr/does not hold the rows/, 'a message for nobody');
fails($session, q{SELECT btml_internal.hold_rows(decode(repeat('00', 40), 'hex'), '{1}')}, qr/the server that leads the fit has btml/, 'a plan of another version');
for my $cut (20, 60, 200)
{
	fails($session, "SELECT btml_internal.hold_rows(decode(repeat('01', $cut), 'hex'), '{1}')", qr/corrupt|invalid/, "a corrupt plan of $cut bytes");
}

fails($session, "SELECT btml_internal.hold_rows(decode(repeat('01', 16) || '04000000ff80ff00', 'hex'), '{1}')", qr/not what was expected/, 'a version that is no text');
my $version = $session->query('SELECT btml.version()');
fails($session, sprintf(q{SELECT btml_internal.hold_rows(decode('%s', 'hex'), '{1}')}, unpack('H*', "\1" x 16 . pack('V/a*', $version) . pack('V/a*', 'UTF8') . "\0")),
	qr/has another order of bytes/, 'another order of bytes');

# A lost server ends the statement, and leaves nothing behind; so does a cancel.
my $long = q{SELECT facts(btml.boost_fit('SELECT x, n, share, kind, y FROM there', 'y', trees => 1000000, strategy => 'distributed'))};
my $fitting = q{SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND query ~ 'exchange_messages'};
send_statement($session, $long);
wait_for($workers[1], $fitting);
$workers[1]->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'});
like(finish_statement($session), qr/terminating connection|server closed the connection/, 'a killed backend of a server');
ok(same($session, q('y', trees => 3)), 'the same again');
send_statement($session, $long);
wait_for($workers[1], $fitting);
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ 'trees => 1000000' AND pid <> pg_backend_pid()});
like(finish_statement($session), qr/canceling statement/, 'a cancel');
wait_for($workers[1], q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND state <> 'idle'});
ok(same($session, q('y', trees => 3)), 'and the same again');
is($session->query(<<'SQL'), 't', 'and after an error that was caught');
DO $$ BEGIN
    PERFORM btml.boost_fit('SELECT 1 / (id - 7) AS q, y FROM there', 'y', strategy => 'distributed');
EXCEPTION WHEN division_by_zero THEN NULL; END $$;
SELECT facts(btml.boost_fit('SELECT x, y FROM there', 'y', trees => 2, strategy => 'distributed')) = facts(btml.boost_fit('SELECT x, y FROM here', 'y', trees => 2))
SQL

done_testing();
