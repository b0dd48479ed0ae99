# Models are values: they live through dumps, replication, restarts and crashes, and serve users who may not see the
# tables that they were trained on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_cluster('primary', init => { allows_streaming => 1 });
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE data AS SELECT i AS id, i % 3 AS k, i % 100 / 7.0 AS y, sin(i) AS a, CASE WHEN i % 7 > 0 THEN 'c' || i % 5 END AS c FROM generate_series(1, 2000) AS i;
CREATE TABLE side AS SELECT i AS k, sqrt(i) AS z FROM generate_series(0, 2) AS i;
CREATE VIEW joined AS SELECT id, y, a, c, z FROM data JOIN side USING (k);
CREATE TABLE models (name text PRIMARY KEY, model btml.model);
INSERT INTO models VALUES ('boosted', btml.boost_fit('SELECT y, a, c, z FROM joined', 'y', trees => 50)),
    ('tree', btml.tree_fit('SELECT y, a, c, z FROM joined', 'y')), ('none', NULL);
CREATE VIEW predictions AS SELECT name, id, btml.predict(model, joined.*) AS prediction FROM models, joined WHERE id <= 100;
SQL
my $digest = q{SELECT count(*), count(prediction), md5(string_agg(prediction::text, ',' ORDER BY name, id)) FROM predictions};
my $expected = $node->safe_psql('postgres', $digest);
like($expected, qr/^300\|200\|/, 'predictions of all rows');

sub predicts_the_same
{
	my ($server, $name, $database) = @_;
	is($server->safe_psql($database || 'postgres', $digest), $expected, "the same predictions $name");
	return;
}

# Dumps.
my $folder = PostgreSQL::Test::Utils::tempdir;
$node->command_ok([ 'pg_dump', '-f', "$folder/plain.sql", $node->connstr('postgres') ], 'pg_dump, plain');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/custom", $node->connstr('postgres') ], 'pg_dump, custom format');
unlike(slurp_file("$folder/plain.sql"), qr/CREATE (FUNCTION|TYPE|AGGREGATE|CAST)/, 'the extension is dumped as one');
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; CREATE DATABASE plain; CREATE DATABASE custom; CREATE DATABASE again');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', "$folder/output", '-f', "$folder/plain.sql", $node->connstr('plain') ], 'psql restores it');
$node->command_ok([ 'pg_restore', '-e', '-d', $node->connstr('custom'), "$folder/custom" ], 'pg_restore');
predicts_the_same($node, 'in a restored database', $_) for 'plain', 'custom';
my $as_ordinary = [ extra_params => [ '-U', 'ordinary' ] ];
is($node->safe_psql('custom', 'SELECT btml.version() IS NOT NULL', @$as_ordinary), 't', 'everybody may use a restored extension');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/twice", $node->connstr('custom') ], 'a restored database is dumped');
$node->command_ok([ 'pg_restore', '-e', '-d', $node->connstr('again'), "$folder/twice" ], 'and restored');
is($node->safe_psql('again', 'SELECT btml.version() IS NOT NULL', @$as_ordinary), 't', 'everybody may use it still');
$node->safe_psql('postgres', qq{COPY models TO '$folder/copy' (FORMAT binary); CREATE TABLE copied (LIKE models); COPY copied FROM '$folder/copy' (FORMAT binary)});
is($node->safe_psql('postgres', 'SELECT bool_and(copied.model::bytea = models.model::bytea) FROM copied JOIN models USING (name)'), 't', 'COPY in binary format');

# Privileges.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE reader LOGIN;
GRANT SELECT ON models TO reader;
CREATE SCHEMA own AUTHORIZATION ordinary;
SQL
my @as_reader = (extra_params => [ '-U', 'reader' ]);
ok($node->safe_psql('postgres', q{SELECT btml.predict(model, r.*) FROM models, (VALUES (0.5::float8, 'c1', 1.0::float8)) AS r(a, c, z) WHERE name = 'boosted'}, @as_reader) =~ /^[-0-9.e]+$/,
	'a role predicts without privileges on the training tables');
my (undef, undef, $error) = $node->psql('postgres', q{SELECT btml.boost_fit('joined', 'y', features => '{a}')}, @as_reader);
like($error, qr/permission denied for view joined/, 'but does not train on them');
is($node->safe_psql('postgres', <<'SQL', @$as_ordinary), '1|1000', 'a role without privileges trains on its own tables');
CREATE TABLE own.data AS SELECT i % 10 AS y, i % 7 AS x FROM generate_series(1, 1000) AS i;
SELECT count(model), max((btml.summary(model)->>'rows')::int) FROM (SELECT btml.boost_fit('own.data', 'y', trees => 3)) AS m(model);
SQL
(undef, undef, $error) = $node->psql('postgres', 'CREATE TABLE btml.intruder (x int)', @$as_ordinary);
like($error, qr/permission denied for schema btml/, 'nobody else creates objects in the schema');

# Physical replica.
$node->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'base', has_streaming => 1);
$replica->start;
$node->safe_psql('postgres', q{INSERT INTO models SELECT 'late', btml.boost_fit('SELECT y, a, c, z FROM joined', 'y', trees => 5)});
$expected = $node->safe_psql('postgres', $digest);
$node->wait_for_catchup($replica);
predicts_the_same($replica, 'on a replica');
my $fit = q{SELECT md5(btml.boost_fit('joined', 'y', trees => 5)::bytea), btml.sumprod('SELECT a, z FROM joined')};
is($replica->safe_psql('postgres', $fit), $node->safe_psql('postgres', $fit), 'a replica trains and sums');
is($replica->safe_psql('postgres', 'SELECT count(*) FROM btml.progress'), '0', 'a replica has btml.progress');

# Restart, crash, promotion.
$node->restart;
predicts_the_same($node, 'after a restart');
my ($session, $pid) = session($node);
send_statement($session, q{SELECT btml.boost_fit('joined', 'y', trees => 1000000)});
wait_for($node, "SELECT EXISTS (SELECT FROM btml.progress WHERE phase = 'growing trees')");
$node->stop('immediate');
$session->{run}->finish;
$node->start;
predicts_the_same($node, 'after a crash in the middle of a fit');
$replica->promote;
predicts_the_same($replica, 'after promotion');

# The extension goes and comes back.
(undef, undef, $error) = $node->psql('postgres', 'DROP EXTENSION btml');
like($error, qr/column model of table models depends on type btml.model/, 'the extension does not go while models are stored');
$node->safe_psql('postgres', <<'SQL');
ALTER TABLE models ADD COLUMN saved bytea;
UPDATE models SET saved = model::bytea;
DROP EXTENSION btml CASCADE;
CREATE EXTENSION btml;
ALTER TABLE models ADD COLUMN model btml.model;
UPDATE models SET model = saved::btml.model;
CREATE VIEW predictions AS SELECT name, id, btml.predict(model, joined.*) AS prediction FROM models, joined WHERE id <= 100;
SQL
predicts_the_same($node, 'after the extension was dropped and created anew');
is($node->safe_psql('postgres', 'SELECT btml.version() IS NOT NULL', @$as_ordinary), 't', 'everybody may use it');

done_testing();
