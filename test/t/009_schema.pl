# CREATE EXTENSION takes over no schema that somebody else can put objects into, and lets dumps pass.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_cluster('primary');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE mallory LOGIN;
CREATE ROLE other_superuser LOGIN SUPERUSER;
CREATE DATABASE target;
GRANT CREATE ON DATABASE target TO mallory;
SQL
my @as_mallory = (extra_params => [ '-U', 'mallory' ]);

# Prepares the schema with these statements, tries CREATE EXTENSION, and removes both.
sub attempt
{
	my ($prepare, %params) = @_;
	$node->safe_psql('target', $prepare, @{ $params{as} || [] });
	my ($code, undef, $error) = $node->psql('target', ($params{before} || '') . "\\set VERBOSITY verbose\nCREATE EXTENSION btml");
	$node->safe_psql('target', 'SET client_min_messages = warning; DROP EXTENSION IF EXISTS btml CASCADE; DROP SCHEMA IF EXISTS btml, btml_internal CASCADE');
	return $code == 0 ? 'created' : $error;
}

sub refused
{
	my ($prepare, $reason, $name, %params) = @_;
	like(attempt($prepare, %params), qr/42501: schema "btml" $reason.*HINT: .*DROP SCHEMA btml CASCADE/s, $name);
	return;
}

is(attempt(''), 'created', 'without a schema');
is(attempt('CREATE SCHEMA btml'), 'created', 'in an empty schema of the installing role');
is(attempt('CREATE SCHEMA btml AUTHORIZATION other_superuser'), 'created', 'in an empty schema of a superuser');
is(attempt('CREATE SCHEMA btml; GRANT USAGE ON SCHEMA btml TO PUBLIC; GRANT CREATE ON SCHEMA btml TO other_superuser'),
	'created', 'in a schema that others may use and superusers may create objects in');

refused('CREATE SCHEMA btml', qr/belongs to a role that is no superuser.*Its owner is mallory\./s, 'an empty schema of another role', as => \@as_mallory);
refused('CREATE SCHEMA btml; GRANT CREATE ON SCHEMA btml TO mallory', qr/is open to other roles.*granted to mallory\./s, 'a schema with CREATE for another role');
refused('CREATE SCHEMA btml; GRANT CREATE ON SCHEMA btml TO PUBLIC', qr/is open to other roles.*granted to PUBLIC\./s, 'a schema with CREATE for everybody');

# Default privileges open every schema that a role makes: dropping it does not help, what the hint says does.
for my $grantees ('mallory', 'PUBLIC', '"Odd name", mallory')
{
	$node->safe_psql('target', "DROP ROLE IF EXISTS \"Odd name\"; CREATE ROLE \"Odd name\"; ALTER DEFAULT PRIVILEGES GRANT CREATE ON SCHEMAS TO $grantees");
	my $error = attempt('');
	like($error, qr/42501: schema "btml" is open to other roles.*granted to \Q$grantees\E\./s, "default privileges for $grantees");
	unlike($error, qr/DROP SCHEMA/, 'no hint to drop the schema');
	my ($hint) = $error =~ /HINT: .*run: (ALTER DEFAULT PRIVILEGES .*)/;
	$node->safe_psql('target', $hint);
	is(attempt(''), 'created', "after what the hint says: $hint");
}

# Objects of every catalog; a schema's own owner is no excuse.
my %objects = (
	'function btml.predict(integer)' => 'FUNCTION btml.predict(int) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
	'operator' => 'OPERATOR btml.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = pg_catalog.int4eq)',
	'table' => 'TABLE btml.t (x int)',
	'view' => 'VIEW btml.v AS SELECT 1 AS x',
	'sequence' => 'SEQUENCE btml.s',
	'type btml.c' => 'TYPE btml.c AS (x int)',
	'type btml.e' => q{TYPE btml.e AS ENUM ('a')},
	'type btml.d' => 'DOMAIN btml.d AS int',
	'collation' => 'COLLATION btml.c FROM "C"',
	'conversion' => q{CONVERSION btml.c FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8},
	'operator family' => 'OPERATOR FAMILY btml.f USING btree',
	'text search configuration' => 'TEXT SEARCH CONFIGURATION btml.c (COPY = pg_catalog.simple)',
	'text search dictionary' => 'TEXT SEARCH DICTIONARY btml.d (TEMPLATE = pg_catalog.simple)',
	'statistics object' => 'TABLE public.t (x int, y int); CREATE STATISTICS btml.s ON x, y FROM public.t',
);
for my $object (sort keys %objects)
{
	refused("CREATE SCHEMA btml; CREATE $objects{$object}", qr/is not empty.*It holds [^\n]*\Q$object\E/s, "a schema with a $object");
}

# The second schema is the extension's as well.
my $internal = attempt('CREATE SCHEMA btml_internal', as => \@as_mallory);
like($internal, qr/42P06: schema "btml_internal" exists.*Its owner is mallory\..*HINT: .*ALTER SCHEMA btml_internal RENAME/s, 'a schema btml_internal of another role');

# Functions that suit the check's own calls better than those of pg_catalog.
my $traps = join '', map { "CREATE FUNCTION btml.format(text, $_) RETURNS text LANGUAGE plpgsql AS \$\$ BEGIN RAISE EXCEPTION 'trapped'; END \$\$;" } 'name', 'text';
my $trapped = attempt("CREATE SCHEMA btml; $traps", as => \@as_mallory);
like($trapped, qr/belongs to a role that is no superuser/, 'the script is refused by the check');
unlike($trapped, qr/trapped/, 'and calls nothing of the schema on the way');

# A dump, restored by another superuser than the one who owns the schema there and here.
my $folder = PostgreSQL::Test::Utils::tempdir;
$node->safe_psql('postgres', q{CREATE TABLE models AS SELECT btml.tree_fit('SELECT i AS x, i AS y FROM generate_series(1, 9) i', 'y') AS model});
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/dump", $node->connstr('postgres') ], 'pg_dump');
for my $options ([], ['--no-owner'])
{
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->command_ok([ 'pg_restore', '-e', @$options, '-U', 'other_superuser', '-d', $node->connstr('restored'), "$folder/dump" ],
		"another superuser restores it: @$options");
	is($node->safe_psql('restored', 'SELECT count(btml.predict(model, ARRAY[1])) FROM models'), '1', 'the models are there');
	$node->safe_psql('postgres', 'DROP DATABASE restored');
}

# A schema that was given to an ordinary role is dumped as that role's.
$node->safe_psql('postgres', 'ALTER SCHEMA btml OWNER TO mallory');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/dump", $node->connstr('postgres') ], 'pg_dump of a schema given away');
$node->safe_psql('postgres', 'CREATE DATABASE refused; CREATE DATABASE restored');
$node->command_fails_like([ 'pg_restore', '-e', '-U', 'other_superuser', '-d', $node->connstr('refused'), "$folder/dump" ],
	qr/schema "btml" belongs to a role that is no superuser/, 'which a restore with owners refuses');
$node->command_ok([ 'pg_restore', '-e', '--no-owner', '-U', 'other_superuser', '-d', $node->connstr('restored'), "$folder/dump" ],
	'and one without takes');

done_testing();
