# The part of a random Query that says where its aggregates stand: alone, in a sub-query, prepared, in a cursor, in a
# command that writes.
package Around;
use strict;
use warnings;
use Draw;

# --- around the aggregates ---

# The query with further conditions.
sub text
{
	my ($self, @more) = @_;
	my @where = (@{ $self->{where} }, @more);
	my $with  = $self->{with} ? 'WITH ' . join(', ', @{ $self->{with} }) . ' ' : '';
	return $with . $self->{select} . (@where ? ' WHERE ' . join(' AND ', @where) : '') . $self->{tail};
}

sub draw_around
{
	my ($self) = @_;
	my $kind = $self->{subject} eq 'row around' ? pick('correlated', 'lateral') : weighted(
		plain        => $self->{simple} ? 100 : 50,
		prepared     => 7,
		cursor       => 5,
		correlated   => 5,
		lateral      => 3,
		nested       => 3,
		cte          => 2,
		union        => 2,
		set          => 1,
		exists       => 1,
		create       => 1.5,
		insert       => 1.5,
		update       => 1,
		delete       => 0.5,
		'for update' => 0.3,
		array        => 0.7,
		row          => 0.5,
		joined       => 2,
		loop         => 1.5);
	my $method = "around_$kind" =~ s/ /_/gr;
	if ($kind ne 'plain') { $self->has("around: $kind"); }
	$self->$method;
	$self->{explain} ||= [ map { /^(BEGIN|ROLLBACK)/ ? $_ : "EXPLAIN_ $_" } @{ $self->{statements} } ];
	return;
}

sub around_plain { my ($self) = @_; $self->{statements} = [ $self->text ]; return; }

# A correlated sub-query gives one column and at most one row.
sub one_value
{
	my ($self, @more) = @_;
	my $sql = $self->text(@more);
	return "SELECT array_agg(q.*::text ORDER BY q.*::text) FROM ($sql) q";
}

sub key_of_some_item { my ($self) = @_; return pick(@{ $self->{items} })->{alias} . '.k4'; }

# Conditions with the number of the row around, which some have in an initial plan.
sub conditions_around
{
	my ($self, $condition) = @_;
	my $table = pick(@{ $self->{schema}{tables} })->{name};
	return $self->key_of_some_item
		. (chance(0.6) ? " $condition" : " = (SELECT max(z.k4) FROM $table z WHERE z.k4 <= zz.i)");
}

sub around_correlated
{
	my ($self) = @_;
	my $query = $self->one_value($self->conditions_around(pick('= zz.i', '= zz.i', '<= zz.i')));
	$self->{statements} = ["SELECT zz.i, ($query) FROM generate_series(0, 3) zz (i)"];
	return;
}

sub around_lateral
{
	my ($self) = @_;
	my $query = $self->text($self->conditions_around('= zz.i'));
	$self->{statements} = [ "SELECT zz.i, q.*::text FROM generate_series(0, 3) zz (i)"
			. pick(", LATERAL ($query) q", " LEFT JOIN LATERAL ($query) q ON true") ];
	return;
}

sub around_nested
{
	my ($self) = @_;
	$self->{statements} =
		[     "SELECT count(*), min(q.*::text COLLATE \"C\"), max(q.*::text COLLATE \"C\") FROM ("
			. $self->text . ') q'
			. pick('', ' WHERE q IS NOT NULL') ];
	return;
}

# The groups are joined again, and aggregated once more.
sub around_joined
{
	my ($self) = @_;
	my $t = pick(@{ $self->{schema}{tables} });
	$self->{statements} =
		[     "SELECT z.k4, count(*), sum(q.n) FROM $t->{name} z JOIN (SELECT a.k4, count(*) AS n FROM $self->{from}"
			. (@{ $self->{where} } ? ' WHERE ' . join(' AND ', @{ $self->{where} }) : '')
			. ' GROUP BY a.k4) q ON q.k4 = z.k4 GROUP BY z.k4' ];
	$self->{statements}[0] = 'WITH ' . join(', ', @{ $self->{with} }) . " $self->{statements}[0]" if $self->{with};
	return;
}

sub around_cte
{
	my ($self) = @_;
	my $query = $self->text;
	$self->{statements} =
		[     'WITH q AS '
			. pick('', 'MATERIALIZED ', 'NOT MATERIALIZED ')
			. "($query) SELECT q.*::text, (SELECT count(*) FROM q) FROM q" ];
	return;
}

sub around_union
{
	my ($self) = @_;
	my $query = $self->text;
	$self->{statements} = ["SELECT q.*::text FROM ($query) q UNION ALL SELECT count(*)::text FROM ($query) q"];
	return;
}

sub around_set
{
	my ($self) = @_;
	my $query = $self->text;
	$self->{statements} =
		[ "SELECT q.*::text FROM ($query) q " . pick('EXCEPT', 'INTERSECT ALL') . " SELECT q.*::text FROM ($query) q" ];
	return;
}

sub around_exists
{
	my ($self) = @_;
	my $query  = $self->text($self->key_of_some_item . ' = zz.k4');
	my $t      = pick(@{ $self->{schema}{tables} })->{name};
	$self->{statements} = [ "SELECT count(*) FROM $t zz WHERE " . pick('', 'NOT ') . "EXISTS ($query)" ];
	return;
}

sub around_array { my ($self) = @_; $self->{statements} = [ 'SELECT (' . $self->one_value . ')' ]; return; }

sub around_row
{
	my ($self) = @_;
	$self->{statements} = [ 'SELECT q, row_to_json(q)::text FROM (' . $self->text . ') q' ];
	return;
}

# A query may name a parameter in its conditions or in an aggregate's argument.
sub around_prepared
{
	my ($self) = @_;
	my @more = pick($self->key_of_some_item . ' = $1', $self->key_of_some_item . ' > $1', '$1 < 3');
	local $self->{select} = $self->{select} =~ s/ FROM /, sum(a.k4 * \$1) FROM /r if chance(0.1);
	local $self->{tail}   = "$self->{tail} HAVING count(*) >= \$1" if $self->{tail} !~ /HAVING|ORDER BY/ && chance(0.2);
	my $query = $self->text(@more);
	my $mode  = pick('force_generic_plan', 'force_custom_plan', 'auto');
	$self->has($mode);
	my @begin = ("BEGIN",    "SET LOCAL plan_cache_mode = $mode", "PREPARE p (int) AS $query");
	my @end   = ('ROLLBACK', 'DEALLOCATE ALL');
	my @runs  = map { "EXECUTE p ($_)" } 0, 1, pick(2, 'NULL'), ($mode eq 'auto' && chance(0.2) ? (0, 1, 2, 3) : ());

	# Invalidates the plan, and leaves nothing behind that would make the next one another.
	splice @runs, 1, 0, "ALTER TABLE t0 ALTER id SET STATISTICS 50" if chance(0.1) && !$self->{schema}{limited};
	$self->{statements} = [ @begin, @runs, @end ];
	$self->{explain}    = [ @begin, 'EXPLAIN_ EXECUTE p (1)', @end ];
	return;
}

sub around_cursor
{
	my ($self)  = @_;
	my $query   = $self->text;
	my $scroll  = pick('', 'SCROLL ', 'NO SCROLL ');
	my @fetches = ("FETCH 2 FROM c", "FETCH ALL FROM c");
	my $hold    = pick('', ' WITH HOLD');
	if ($self->{tail} =~ /ORDER BY/ || !@{ $self->{groups} })
	{
		@fetches = map { "FETCH $_ FROM c" } pick(
			[ 1,      2,              'BACKWARD 1', 'ALL' ],
			[ 2,      'BACKWARD ALL', 1 ],
			[ 'ALL',  'BACKWARD 2',   'FIRST' ],
			[ 'LAST', 'PRIOR' ]
		)->@*;

		# Whether a cursor that does not say so can scroll is a matter of its plan.
		$scroll ||= 'NO SCROLL ' if grep { /BACKWARD|FIRST|LAST|PRIOR/ } @fetches;
	}
	$self->{statements} = [ 'BEGIN', "DECLARE c ${scroll}CURSOR$hold FOR $query", @fetches, 'ROLLBACK' ];
	$self->{explain}    = ["EXPLAIN_ $query"];
	return;
}

sub around_create
{
	my ($self) = @_;
	my $query  = $self->text;
	my $into   = pick('TEMP TABLE made', 'MATERIALIZED VIEW made');

	# The columns get names that differ.
	my $named = "SELECT q.*::text AS r FROM ($query) q";
	$self->{statements} = [ 'BEGIN', "CREATE $into AS $named", 'SELECT * FROM made', 'ROLLBACK' ];
	$self->{explain}    = ["EXPLAIN_ $query"];
	return;
}

sub around_insert
{
	my ($self) = @_;
	my $query = $self->text;
	$self->{statements} = [
		'BEGIN',
		'CREATE TEMP TABLE made (r text) ON COMMIT DROP',
		"INSERT INTO made SELECT q.*::text FROM ($query) q RETURNING *", 'ROLLBACK' ];
	$self->{explain} = ["EXPLAIN_ $query"];
	return;
}

sub joined_by_key
{
	my ($self) = @_;
	my $where = @{ $self->{where} } ? ' WHERE ' . join(' AND ', @{ $self->{where} }) : '';
	return ($self->{with} ? 'WITH ' . join(', ', @{ $self->{with} }) . ' ' : '')
		. "SELECT a.k4 AS k, count(*) AS n, max(a.k4) AS m FROM $self->{from}$where GROUP BY a.k4";
}

sub around_update
{
	my ($self) = @_;
	my $t      = pick(@{ $self->{schema}{tables} })->{name};
	my $query  = $self->joined_by_key;
	$self->{statements} = [
		'BEGIN', "UPDATE $t z SET x8 = q.n, x4 = q.m FROM ($query) q WHERE q.k = z.k4 RETURNING z.id, z.x8, z.x4, q.*",
		'ROLLBACK' ];
	return;
}

sub around_delete
{
	my ($self) = @_;
	my $t      = pick(@{ $self->{schema}{tables} })->{name};
	my $query  = $self->joined_by_key;
	$self->{statements} =
		[ 'BEGIN', "DELETE FROM $t z USING ($query) q WHERE q.k = z.k4 AND q.n > 2 RETURNING z.id, q.*", 'ROLLBACK' ];
	return;
}

# The rows of a join under aggregates cannot be locked.
sub around_for_update { my ($self) = @_; $self->{statements} = [ $self->text . ' FOR UPDATE' ]; return; }

# A plan that PL/pgSQL keeps, with its variable for a parameter.
sub around_loop
{
	my ($self) = @_;
	my $query = $self->one_value($self->key_of_some_item . ' = i');
	my $body =
		  "DECLARE r text; BEGIN FOR i IN 0 .. 6 LOOP SELECT (SELECT x.v::text FROM ($query) x (v)) INTO r; "
		. "RAISE NOTICE '%: %', i, r; END LOOP; END";
	if (chance(0.4))
	{
		$self->has('errors caught');
		$body =~
			s/LOOP (SELECT .+); RAISE/LOOP BEGIN $1; EXCEPTION WHEN OTHERS THEN r := SQLSTATE || SQLERRM; END; RAISE/;
	}
	$self->{statements} = ["DO \$body\$ $body \$body\$"];
	$self->{explain}    = [ 'EXPLAIN_ ' . $self->text ];
	$self->{other_plan} = 1;                                # that of all values of the variable
	return;
}

1;
