# Errors across the boundary between C++ and PostgreSQL, seen from SQL. guard_test is a module built for this test.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use Test::More;

my $module = "$FindBin::Bin/guard_test.so";
plan skip_all => 'the module guard_test is not built' unless -e $module;

my $node = new_cluster('guard');
$node->safe_psql('postgres', <<SQL);
CREATE FUNCTION test_error(code text, message text, detail text, hint text) RETURNS void LANGUAGE C AS '$module', 'btml_test_error';
CREATE FUNCTION test_standard(kind text) RETURNS void LANGUAGE C AS '$module', 'btml_test_standard';
CREATE FUNCTION test_call(function regprocedure) RETURNS int LANGUAGE C AS '$module', 'btml_test_call';
CREATE FUNCTION test_alive() RETURNS int LANGUAGE C AS '$module', 'btml_test_alive';
SQL
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE positive (x int CONSTRAINT x_is_positive CHECK (x > 0));
CREATE FUNCTION answer() RETURNS int LANGUAGE sql AS 'SELECT 42';
CREATE FUNCTION violate() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO positive VALUES (-1); RETURN 1; END $$;
CREATE FUNCTION raise_all() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'größe' USING ERRCODE = 'BT001', DETAIL = 'the detail', HINT = 'the hint', SCHEMA = 's', TABLE = 't', COLUMN = 'c';
END $$;
CREATE FUNCTION below() RETURNS int LANGUAGE sql AS $$ SELECT test_call('raise_all()') $$;
CREATE FUNCTION caught_below() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    RETURN test_call('violate()');
EXCEPTION WHEN check_violation THEN
    RETURN test_call('answer()');
END $$;
CREATE FUNCTION throws_below() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM test_standard('int'); RETURN 1; END $$;

-- What a statement fails with.
CREATE FUNCTION failure(statement text, OUT state text, OUT message text, OUT detail text, OUT hint text, OUT context text,
    OUT schema_name text, OUT table_name text, OUT column_name text, OUT constraint_name text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS OR query_canceled THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT, schema_name = SCHEMA_NAME, table_name = TABLE_NAME,
        column_name = COLUMN_NAME, constraint_name = CONSTRAINT_NAME;
END $$;
SQL

my ($session) = session($node);

# fails_with(<statement>, <columns of failure()>, <their values>): in a subtransaction; afterwards everything works.
sub fails_with
{
	my ($statement, $columns, $expected, $name) = @_;
	is($session->query("SELECT $columns FROM failure(\$statement\$$statement\$statement\$)"), $expected, $name);
	is($session->query(q{SELECT test_call('answer()'), test_alive()}), '42|0', "$name: afterwards");
	return;
}

my %codes = (
	invalid_argument => '22023', null_value => '22004', out_of_range => '22003', undefined_column => '42703',
	duplicate_column => '42701', wrong_type => '42804', not_supported => '0A000', limit_exceeded => '54000',
	memory_limit => '53200', corrupt_model => '22P03', internal => 'XX000');
fails_with("SELECT test_error('$_', 'a message', 'a detail', 'a hint')", 'state, message, detail, hint', "$codes{$_}|a message|a detail|a hint", $_)
  for sort keys %codes;
fails_with(q{SELECT test_error('internal', '100%s', '%d', '%n')}, 'message, detail, hint', '100%s|%d|%n', 'messages are no formats');
fails_with(q{SELECT test_error('internal', '', '', '')}, 'message, detail, hint', '||', 'empty texts');

my %standard = (
	bad_alloc => '53200|out of memory', invalid_argument => '22023|message', domain_error => '22023|message', out_of_range => '22023|message',
	length_error => '54000|message', range_error => '22003|message', overflow_error => '22003|message', exception => 'XX000|message',
	int => 'XX000|unknown C++ exception', cancelled => '57014|canceling statement due to user request');
fails_with("SELECT test_standard('$_')", 'state, message', $standard{$_}, "standard exception $_") for sort keys %standard;
fails_with(q{SELECT test_standard('bad_alloc')}, 'hint', 'There was less memory than btml.memory_limit allows: lower it, or read fewer rows or columns.', 'the hint of bad_alloc');

# Long texts are cut between characters: 1023, 2047 and 1023 bytes at most.
for my $length (340, 341, 342, 1000, 3000)
{
	my $message = $length < 341 ? $length : 341;
	my $detail = $length < 682 ? $length : 682;
	fails_with(qq{SELECT test_error('internal', repeat('€', $length), repeat('€', $length), repeat('€', $length))},
		q{message = repeat('€', length(message)), length(message), length(detail), length(hint)}, "t|$message|$detail|$message", "$length characters");
}

fails_with(q{SELECT test_call('raise_all()')},
	q{state, message, detail, hint, schema_name, table_name, column_name, context LIKE 'PL/pgSQL function raise_all()%'},
	'BT001|größe|the detail|the hint|s|t|c|t', 'a PostgreSQL error passes unchanged');
fails_with(q{SELECT test_call('violate()')}, 'state, table_name, constraint_name, detail', '23514|positive|x_is_positive|Failing row contains (-1).', 'a violated constraint');
fails_with(q{SELECT test_call('below()')}, 'state, message, detail', 'BT001|größe|the detail', 'through two boundaries');
fails_with(q{SELECT test_call('throws_below()')}, 'state, message', 'XX000|unknown C++ exception', 'a C++ exception below another boundary');
is($session->query(q{SELECT test_call('caught_below()')}), '42', 'an error caught below the boundary');
is($session->query('SELECT count(*) FROM positive'), '0', 'its subtransaction was rolled back');

# Without a subtransaction around it.
fails($session, q{SELECT test_call('raise_all()')}, qr/ERROR:  größe\nDETAIL:  the detail\nHINT:  the hint\nCONTEXT:  PL\/pgSQL function raise_all\(\)/, 'the error at the top');
fails($session, q{SELECT test_standard('cancelled')}, qr/canceling statement/, 'cancelled at the top');
is($session->query(q{SELECT test_call('answer()'), test_alive()}), '42|0', 'afterwards');

done_testing();
