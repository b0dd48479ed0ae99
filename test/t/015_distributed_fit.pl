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
    nullif(i * 37 % 1001 / 7.0 * CASE i * 17 % 6 WHEN 0 THEN 2 ELSE -1 END + i % 13, 0) AS y, i % 3 = 0 AND i % 7 > 2 AS b
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
for my $setting ('standard_conforming_strings = off', 'search_path = pg_catalog, public')
{
	$session->query("SET $setting");
	is($session->query(q{SELECT facts(btml.boost_fit('SELECT x, y FROM public.there -- all of it', 'y', trees => 2, strategy => 'distributed'))
	    = facts(btml.boost_fit('SELECT x, y FROM public.here;', 'y', trees => 2))}), 't', $setting);
	$session->query('RESET ALL; SET client_min_messages = warning');
}
$node->safe_psql('postgres', 'ANALYZE there');
$session->query('CREATE VIEW doubled AS SELECT x * 2 AS twice, kind, y FROM there WHERE n > 3');
is($session->query(q{SELECT facts(btml.boost_fit('doubled', 'y', trees => 5, strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT x * 2 AS twice, kind, y FROM here WHERE n > 3', 'y', trees => 5))}), 't', 'a view with a condition');
is($session->query(q{SELECT facts(btml.boost_fit('SELECT x, y FROM there WHERE id = 1 OR id = 4', 'y', trees => 2, min_leaf_rows => 1, strategy => 'distributed'))
    = facts(btml.boost_fit('SELECT x, y FROM here WHERE id = 1 OR id = 4', 'y', trees => 2, min_leaf_rows => 1))}), 't', 'servers without rows');
like($session->query(q{SELECT btml.summary(btml.boost_fit('there', 'y', trees => 1, strategy => 'distributed')) ->> 'strategy_reason'}),
	qr/^the rows of 6 partitions stay in 2 backends of other servers, asked [0-9]+ times$/, 'the summary tells where the rows were');

# Errors are those of the fit, and name what cannot be distributed.
sub fit_fails
{
	my ($source, $arguments, $message, $name) = @_;
	fails($session, "SELECT btml.boost_fit('$source', $arguments, strategy => 'distributed')", $message, $name);
	return;
}
fit_fails('there', q('y', row_fraction => 0.5), qr/row_fraction is not supported/, 'row_fraction');
fit_fails('there', q('y', holdout => 'held', metric => 'mae'), qr/metric is not supported/, 'metric');
fit_fails('there', q('x', objective => 'multiclass'), qr/labels that are numbers must be whole/, 'labels that are fractions');
fit_fails('there', q('kind', class_weights => '{"z": 2}'), qr/class_weights names the label "z"/, 'a label that no row has');
fit_fails('SELECT NULL::text AS y, x FROM there', q('y'), qr/no rows to train on/, 'no labels');
fit_fails(q(SELECT ''a''::text AS y, x FROM there), q('y'), qr/label "a"/, 'one label');
fit_fails('SELECT y, now() AS at FROM there', q('y'), qr/column "at" of type timestamp/, 'a point in time');
fit_fails('here', q('y'), qr/does not read one partitioned table/, 'a table of this server');
fit_fails('SELECT y, x FROM there JOIN here h USING (id, x, y)', q('y'), qr/does not read one partitioned table/, 'a join');
fit_fails('SELECT y, x FROM there WHERE random() < 2', q('y'), qr/would be read here/, 'what is not shipped');
fit_fails('SELECT y, x FROM there WHERE x > 1000', q('y'), qr/no rows to train on/, 'no rows');
fit_fails('SELECT NULL::float8 AS y, x FROM there', q('y'), qr/no rows to train on/, 'no targets');
fit_fails('SELECT y, x, -w AS w FROM there', q('y', weight => 'w'), qr/weight/, 'negative weights');
fit_fails('there', q('y', objective => 'gamma'), qr/target value -[0-9.]+ is not valid with objective => 'gamma'/, 'targets out of range');
fit_fails('there', q('y', trees => 3, start => btml.boost_fit('SELECT x, y FROM here', 'x', trees => 1)), qr/feature "y" of start/, 'another start');
fails($session, q{SELECT btml.cross_validate('there', 'y', options => '{"strategy": "distributed"}')}, qr/strategy/, 'folds are not distributed');

# A server's memory limit holds there, and says so.
$workers[0]->safe_psql('postgres', "ALTER DATABASE postgres SET btml.memory_limit = '64kB'");
my ($small) = session($node);
fails($small, q{SELECT btml.boost_fit('there', 'y', strategy => 'distributed')}, qr/memory_limit/, 'a server without memory');
$workers[0]->safe_psql('postgres', 'ALTER DATABASE postgres RESET btml.memory_limit');

# Messages are trusted, so not everybody may send them.
$node->safe_psql('postgres', 'GRANT SELECT ON here, there TO analyst; ALTER TABLE here ENABLE ROW LEVEL SECURITY; ALTER TABLE there ENABLE ROW LEVEL SECURITY;
    CREATE POLICY few ON here TO analyst USING (n < 9); CREATE POLICY few ON there TO analyst USING (n < 9)');
my ($analyst) = session($node, user => 'analyst');
$analyst->query('SET client_min_messages = warning');
fails($analyst, q{SELECT btml.boost_fit('there', 'y', strategy => 'distributed')}, qr/permission denied for/, 'a role without the right');
for my $server ($node, @workers)
{
	$server->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION btml_internal.hold_rows(bytea, float8[]), btml_internal.hold_rows(bytea, float8[], text[]),
	    btml_internal.exchange_messages(bytea) TO analyst');
}
ok(same($analyst, q('y', trees => 3)), 'a role with the right, under row security');
$session->query('CREATE VIEW of_owner AS SELECT x, n, kind, y FROM there; REVOKE SELECT ON there FROM analyst; GRANT SELECT ON of_owner TO analyst');
is($analyst->query(q{SELECT btml.summary(btml.boost_fit('of_owner', 'y', trees => 2, strategy => 'distributed')) ->> 'rows'}), $session->query('SELECT count(y) FROM here'),
	'a view reads with the rights of its owner');
fails($analyst, q{SELECT btml.boost_fit('there', 'y', strategy => 'distributed')}, qr/permission denied for table there/, 'and the table does not');
fails($session, q{SELECT btml_internal.exchange_messages('\x00')}, qr/not what was expected/, 'a message too short');
fails($session, q{SELECT btml_internal.exchange_messages(decode(repeat('00', 40), 'hex'))}, qr/does not hold the rows/, 'a message for nobody');
fails($session, q{SELECT btml_internal.hold_rows(decode(repeat('00', 40), 'hex'), '{1}')}, qr/the server that leads the fit has btml/, 'a plan of another version');
for my $cut (20, 60, 200)
{
	fails($session, "SELECT btml_internal.hold_rows(decode(repeat('01', $cut), 'hex'), '{1}')", qr/corrupt|invalid/, "a corrupt plan of $cut bytes");
}

# A lost server ends the statement, and leaves nothing behind; so does a cancel.
my $long = q{SELECT facts(btml.boost_fit('SELECT x, n, share, kind, y FROM there', 'y', trees => 1000000, strategy => 'distributed'))};
my $fitting = q{SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND query ~ 'exchange_messages'};
send_statement($session, $long);
wait_for($workers[1], $fitting);
$workers[1]->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'});
like(finish_statement($session), qr/terminating connection|connection/, 'a killed backend of a server');
ok(same($session, q('y', trees => 3)), 'the same again');
send_statement($session, $long);
wait_for($workers[1], $fitting);
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ 'trees => 1000000' AND pid <> pg_backend_pid()});
like(finish_statement($session), qr/canceling statement/, 'a cancel');
wait_for($workers[1], q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND state <> 'idle'});
ok(same($session, q('y', trees => 3)), 'and the same again');

done_testing();
