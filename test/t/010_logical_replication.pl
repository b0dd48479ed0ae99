# Tables with models replicate logically, without a key as well: the subscriber finds a row by comparing all its columns.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = new_cluster('publisher', init => { allows_streaming => 'logical' });
my $subscriber = new_cluster('subscriber', init => { allows_streaming => 'logical' });
my $fit = q{btml.tree_fit('SELECT i AS x, %s * i AS y FROM generate_series(1, 20) i', 'y', min_leaf_rows => 1)};
my @models = map { sprintf $fit, $_ } 1 .. 3;
$_->safe_psql('postgres', 'CREATE TABLE models (name text, model btml.model); ALTER TABLE models REPLICA IDENTITY FULL') for $publisher, $subscriber;
$publisher->safe_psql('postgres', "CREATE PUBLICATION models FOR TABLE models; INSERT INTO models VALUES ('a', $models[0]), ('b', $models[1]), (NULL, NULL)");
my $connection = $publisher->connstr . ' dbname=postgres';

# What the publisher holds: names, predictions of 1, and rows; the subscriber holds the same, to the models' last byte.
sub is_replicated
{
	my ($expected, $name) = @_;
	my $contents = q{SELECT string_agg(coalesce(name, '?') || ':' || btml.predict(model, ARRAY[1]), ' ' ORDER BY name) || ' of ' || count(*) || ' ' || md5(string_agg(model::text, '' ORDER BY name)) FROM models};
	my $published = $publisher->safe_psql('postgres', $contents);
	$publisher->wait_for_catchup('models');
	is($subscriber->safe_psql('postgres', $contents), $published, $name);
	like($published, qr/^\Q$expected\E /, "$name, as it should be");
	return;
}

for my $binary ('false', 'true')
{
	$subscriber->safe_psql('postgres', "TRUNCATE models; CREATE SUBSCRIPTION models CONNECTION '$connection' PUBLICATION models WITH (binary = $binary)");
	wait_for($subscriber, q{SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's')});
	is_replicated('a:1 b:2 of 3', "the first copy, binary $binary");
	$publisher->safe_psql('postgres', "UPDATE models SET name = 'c' WHERE name = 'a'");
	is_replicated('b:2 c:1 of 3', "an update of another column, binary $binary");
	$publisher->safe_psql('postgres', "UPDATE models SET model = $models[2] WHERE name = 'c'");
	is_replicated('b:2 c:3 of 3', "an update of a model, binary $binary");
	$publisher->safe_psql('postgres', "DELETE FROM models WHERE name = 'b'");
	is_replicated('c:3 of 2', "a deletion, binary $binary");
	$publisher->safe_psql('postgres', "UPDATE models SET (name, model) = (SELECT 'a', $models[0]) WHERE name = 'c'; INSERT INTO models VALUES ('b', $models[1])");
	is_replicated('a:1 b:2 of 3', "and back, binary $binary");
	$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION models');
}

done_testing();
