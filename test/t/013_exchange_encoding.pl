# Models of other libraries in databases whose encoding is not UTF-8: JSON's escapes become characters of the database.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_cluster('exchange_encoding');
# One categorical feature: the category of code 1 is 1, others are 2.
sub model
{
	my ($categories) = @_;
	return q~btml.from_lightgbm(E'tree\nversion=v4\nmax_feature_idx=0\nnum_tree_per_iteration=1\nfeature_names=kind\nobjective=regression\n\nTree=0\nnum_leaves=2\nnum_cat=1\nsplit_feature=0\nthreshold=0\ndecision_type=1\nleft_child=-1\nright_child=-2\nleaf_value=1 2\ncat_boundaries=0 1\ncat_threshold=2\n\nend of trees\n\n[categorical_feature: 0]\n\npandas_categorical:~ . $categories . q~\n')~;
}
for my $encoding ('UTF8', 'LATIN1', 'WIN1251', 'SQL_ASCII')
{
	my $database = lc $encoding;
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C'");
	$node->safe_psql($database, q~SET client_encoding = 'SQL_ASCII'; CREATE EXTENSION btml~);
	my $of_utf8 = $encoding eq 'SQL_ASCII' ? q~'\xc3a9'~ : $encoding eq 'WIN1251' ? q~'\xd1'~ : q~'\xe9'~;
	my $from = $encoding eq 'SQL_ASCII' ? 'SQL_ASCII' : $encoding eq 'WIN1251' ? 'WIN1251' : 'LATIN1';
	my $escape = $encoding eq 'WIN1251' ? '\\\\u0421' : '\\\\u00e9';
	is($node->safe_psql($database, 'SELECT btml.predict(m, k) FROM ' . model(qq~[["z\\\\\\\\u0041", "$escape"]]~) . " m, (VALUES (convert_from($of_utf8, '$from')), ('other')) k(kind)"),
		"1\n2", "$encoding: a category that is escaped");
}
my (undef, undef, $error) = $node->psql('latin1', '\set VERBOSITY verbose' . "\nSELECT " . model('[["a", "\\\\u4f60"]]'));
like($error, qr/22P05: character with byte sequence 0xe4 0xbd 0xa0 in encoding "UTF8" has no equivalent in encoding "LATIN1"/, 'a character that there is not');
like($error, qr/CONTEXT:  an escape of JSON in byte \d+ of the model's text/, 'and where it is');
my ($code) = $node->psql('latin1', 'SELECT ' . model('[["a", "\\\\ud800"]]'));
isnt($code, 0, 'half of a surrogate pair is refused');
done_testing();
