# Tables partitioned over two other servers by postgres_fdw: what the statements of distributed.sql give over them and over
# local tables, rights, errors and cancelling across servers, and what is left behind there.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $node = new_cluster('coordinator');
plan skip_all => 'needs postgres_fdw'
  unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
my @workers = map { new_cluster("worker_$_") } 0, 1;
my $partitions = 32;

$node->psql('postgres', slurp_file("$FindBin::Bin/distributed.sql"), on_error_die => 1);
$node->safe_psql('postgres', 'CREATE ROLE analyst LOGIN; CREATE EXTENSION postgres_fdw');
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

# A partition of a table of schema everywhere on one of the workers.
sub add_partition
{
	my ($table, $number, $bounds) = @_;
	my $i = $number % 2;
	my $columns = $node->safe_psql('postgres', "SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
	    FROM pg_attribute WHERE attrelid = 'everywhere.$table'::regclass AND attnum > 0");
	$workers[$i]->safe_psql('postgres', "CREATE TABLE ${table}_$number ($columns); GRANT SELECT ON ${table}_$number TO analyst");
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE everywhere.${table}_$number PARTITION OF everywhere.$table FOR VALUES $bounds
	    SERVER worker_$i OPTIONS (schema_name 'public', table_name '${table}_$number')");
	return;
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE everywhere.sale (LIKE here.sale) PARTITION BY HASH (shop);
CREATE TABLE everywhere.visit (LIKE here.visit) PARTITION BY LIST (channel);
SQL
add_partition('sale', $_, "WITH (MODULUS $partitions, REMAINDER $_)") for 0 .. $partitions - 1;
my @channels = ('web', 'street', 'phone');
add_partition('visit', $_, "IN ('$channels[$_]')") for 0 .. $#channels;
$node->safe_psql('postgres', <<'SQL');
INSERT INTO everywhere.sale SELECT * FROM here.sale;
INSERT INTO everywhere.visit SELECT * FROM here.visit;
CREATE VIEW everywhere.sale_of_shop AS SELECT * FROM everywhere.sale JOIN here.shop USING (shop);
ANALYZE everywhere.sale, everywhere.visit;
ALTER DATABASE postgres SET enable_partitionwise_aggregate = on;
SQL

# Runs the statements that match in a session, and passes their lines on.
sub compare
{
	my ($session, $names) = @_;
	for my $name (split /\n/, $session->query("SELECT name FROM here.statement WHERE name ~ '$names' ORDER BY ctid"))
	{
		my $line = $session->query("SELECT here.compared(s, 'postgres_fdw') FROM here.statement s WHERE name = '$name'");
		ok($line =~ /^ok /, $name) or diag($line);
	}
	return;
}

my ($session) = session($node);
$session->query('SET client_min_messages = warning');
compare($session, '');

# Whole numbers are added up where they are, others here, in the order of the rows.
sub ships
{
	my ($call) = @_;
	my $begin = -s $workers[0]->logfile;
	$session->query("SELECT $call");
	return slurp_file($workers[0]->logfile, $begin) =~ /SELECT [^\n]*sumprod_agg\(ARRAY/ ? 1 : 0;
}
is(ships(q{btml.sumprod('SELECT s.item FROM everywhere.sale s JOIN here.visit v USING (shop)')}), 1, 'groups of whole numbers are shipped');
is(ships(q{btml.sumprod('SELECT s.price FROM everywhere.sale s JOIN here.visit v USING (shop)')}), 0, 'groups of other numbers are not');

# Rows that a policy hides are hidden from training, too; both owner and analyst ask through a mapping of their own.
$node->safe_psql('postgres', <<'SQL');
GRANT USAGE ON SCHEMA here, everywhere TO analyst;
GRANT SELECT ON ALL TABLES IN SCHEMA here TO analyst;
GRANT SELECT ON everywhere.sale, everywhere.visit TO analyst;
ALTER TABLE here.sale ENABLE ROW LEVEL SECURITY;
ALTER TABLE everywhere.sale ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON here.sale TO analyst USING (shop < 20);
CREATE POLICY few ON everywhere.sale TO analyst USING (shop < 20);
SQL
my ($analyst) = session($node, user => 'analyst');
$analyst->query('SET client_min_messages = warning');
compare($analyst, '^(boost_fit, enumerate|boost_fit, factorize|gp_fit|sumprod_exact|kernel_sum|exact_sum|boost_fit_agg by key|predict, an array)$');
is($analyst->query(q{SELECT btml.sumprod('SELECT FROM everywhere.sale')}), 2000, 'a policy hides rows');
fails($analyst, q{SELECT btml.sumprod('SELECT FROM everywhere.sale_0')}, qr/permission denied for foreign table sale_0/, 'a partition by itself wants rights');
$workers[1]->safe_psql('postgres', 'REVOKE SELECT ON sale_1 FROM analyst');
fails($analyst, q{SELECT btml.tree_fit('SELECT price, rating FROM everywhere.sale', 'rating')}, qr/permission denied for table sale_1\n.*remote SQL command/s,
	q{the other server's rights count});
is($session->query(q{SELECT btml.sumprod('SELECT FROM everywhere.sale')}), 4000, q{not those of another mapping});

# A statement that waits for another server ends there, too.
my $running = q{SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()};
$workers[0]->safe_psql('postgres', 'CREATE VIEW slow AS SELECT id, price, rating, shop FROM sale_0, pg_sleep(600)');
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE everywhere.slow (id int, price float8, rating float8, shop int) SERVER worker_0 OPTIONS (schema_name 'public')});
my $pid = $session->query('SELECT pg_backend_pid()');

# Fails unless no statement runs on the worker a second after now.
sub ends_there
{
	my ($name) = @_;
	my $until = time() + 1;
	my $count;
	do { $count = $workers[0]->safe_psql('postgres', $running); } while ($count && time() < $until);
	is($count, 0, $name);
	return;
}

for my $call (q{btml.boost_fit('SELECT price, rating FROM everywhere.slow', 'rating')}, q{btml.sumprod('SELECT price, spend FROM everywhere.slow JOIN everywhere.visit USING (shop)')},
	q{btml.kde_score('SELECT price FROM everywhere.slow', 1)})
{
	my ($function) = $call =~ /btml\.(\w+)/;
	$session->query(q{SET statement_timeout = '300ms'});
	fails($session, "SELECT $call", qr/canceling statement due to statement timeout/, "$function: statement_timeout ends it");
	ends_there("$function: and what it sent");
	$session->query('RESET statement_timeout');
	send_statement($session, "SELECT $call");
	wait_for($workers[0], "SELECT ($running) > 0");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	like(finish_statement($session), qr/canceling statement due to user request/, "$function: a cancel ends it");
	ends_there("$function: and what it sent");
}
is($session->query(q{SELECT btml.sumprod('SELECT FROM everywhere.sale')}), 4000, 'the session goes on');

# A server that goes away fails the statement, which gives the same when it is back.
my $model = q{SELECT md5(btml.tree_fit('SELECT price, rating FROM everywhere.sale', 'rating')::text)};
my $before = $session->query($model);
$workers[0]->safe_psql('postgres', 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = \'postgres_fdw\'');
is($session->query($model), $before, 'a connection that was lost between statements is made anew');
send_statement($session, q{SELECT btml.tree_fit('SELECT price, rating FROM everywhere.slow', 'rating')});
wait_for($workers[0], "SELECT ($running) > 0");
$workers[0]->safe_psql('postgres', 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = \'postgres_fdw\'');
like(finish_statement($session), qr/terminating connection due to administrator command/, 'one that is lost during a statement fails it');
is($session->query($model), $before, 'and the next one gives the same');

# The sessions are still there.
for my $i (0, 1)
{
	is($workers[$i]->safe_psql('postgres', q{SELECT count(*) FROM pg_prepared_xacts}), 0, "worker $i: no prepared transactions");
	is($workers[$i]->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'}),
		0, "worker $i: no open transactions");
	is($workers[$i]->safe_psql('postgres', $running), 0, "worker $i: nothing runs");
	is($workers[$i]->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relpersistence = 't'}), 0, "worker $i: no temporary tables");
}
$session->quit;
$analyst->quit;

done_testing();
