# The part of a random Query that says what is joined, and how: FROM and WHERE.
package From;
use strict;
use warnings;
use Draw;
use Schema;

use List::Util 'max';

my $max_joined_rows = 2500;    # by a rough estimate; PostgreSQL has to join them all

# Columns that compare with each other although their types differ.
my @families = (
	[qw(id k2 k4 k8)], [qw(k4 kn)],  [qw(kn km)], [qw(kt kv)], [qw(kt kc)], [qw(kd kts)],
	[qw(kts ktz)],     [qw(kd ktz)], [qw(kf kg)], [qw(k4 ko)], [qw(k8 kf)], [qw(x2 x4 x8 k4)],
	[qw(id k4)]);

# --- FROM ---

sub draw_join
{
	my ($self) = @_;
	my $count  = weighted(1     => $self->{simple} ? 0 : 0.4, 2 => 6, 3 => 6, 4 => 4, 5 => 2, 6 => 1);
	my $style  = weighted(comma => 5, join => 5, outer => $self->{simple} ? 2 : 6);
	$style = 'outer' if $self->{subject} eq 'outer';
	my $from   = '';
	my $rows   = 1;

	$count = weighted(3 => 6, 4 => 2) if $self->{subject} eq 'pair';
	my @ring;
	if ($self->{subject} eq 'ring')
	{
		@ring  = pick([qw(k4 k8)], [qw(k8 k4)], [ sample(2, qw(k2 k4 k8)) ])->@*;
		$count = weighted(3 => 6, 4 => 2, 5 => 1, 6 => 1);
		$style = pick('comma', 'join', 'join', 'outer');
	}
	for my $number (0 .. $count - 1)
	{
		my $item = $self->item(chr(ord('a') + $number));
		$self->{fewer} = 1;
		my @conditions = $number ? $self->conditions_with($item) : ();
		if ($number && @ring)
		{
			my $last = $number == $count - 1;
			@conditions = $self->ring_conditions($item, $self->{items}[-1], $last ? $self->{items}[0] : undef, @ring);
		}
		my $joined     = $rows * ($item->{rows} || 1) / $self->{fewer};
		last if $number && $joined > max($max_joined_rows, 2 * max(map { $_->{rows} } $item, @{ $self->{items} }));
		$rows = $joined < 1 ? 1 : $joined;
		push @{ $self->{items} }, $item;
		if ($style eq 'comma' || !$number || $item->{lateral} && !@conditions)
		{
			$from .= ($number ? ', ' : '') . $item->{sql};
			push @{ $self->{where} }, @conditions;
			$style = 'comma' if $number && $item->{lateral};
			next;
		}
		if ($style eq 'outer' && !$item->{lateral} && chance(0.25)) { @conditions = $self->nest($item, @conditions); }
		my $kind =
			$style eq 'outer' && !$item->{lateral} && chance($self->{subject} eq 'outer' ? 0.8 : 0.5)
			? weighted(LEFT => 5, RIGHT => 2, FULL => $self->{simple} || $item->{nested} ? 0 : 1)
			: 'INNER';
		$self->has("\L$kind\E join") if $kind ne 'INNER';
		$from .=
			!@conditions && $kind eq 'INNER'
			? " CROSS JOIN $item->{sql}"
			: " $kind JOIN $item->{sql} ON " . (join(' AND ', @conditions) || 'true');
	}
	$self->{from} = $from;
	$self->has(scalar(@{ $self->{items} }) . ' tables');
	return;
}

# Makes the item a join of it and another one, in brackets; gives the conditions of the join with those before.
sub nest
{
	my ($self, $item, @conditions) = @_;
	my $alias    = chr(ord('p') + @{ $self->{items} });
	my $other    = $self->item($alias, 1);
	my $equality = $self->equality($item, $other);
	return @conditions if !defined $equality || $other->{rows} > 40;
	my $kind = weighted(INNER => 3, LEFT => 2);
	$self->has('nested join');
	$item->{sql}    = "($item->{sql} $kind JOIN $other->{sql} ON $equality)";
	$item->{nested} = 1;
	my $further = chance(0.2) && $self->equality(pick(@{ $self->{items} }), $other);
	push @{ $self->{items} }, $other;
	return (@conditions, $further ? $further : ());
}

# One thing to select from: {alias}, {sql}, {rows}, {columns}.
sub item
{
	my ($self, $alias, $no_lateral) = @_;
	my $schema = $self->{schema};
	my $table  = pick(@{ $schema->{tables} });
	my $kind =
		$self->{simple}
		? weighted(table => 40, view => 3, offset => 2, union => 2, materialized => 1, grouped => 1)
		: weighted(
		table        => 60,
		view         => 6,
		offset       => 6,
		subquery     => 4,
		union        => 4,
		distinct     => 2,
		grouped      => 4,
		cte          => 3,
		materialized => 2,
		values       => 1,
		series       => 1,
		lateral      => 2,
		only         => 1,
		sample       => 0.5,
		joined       => 2);
	$kind = 'offset' if $self->{subject} eq 'fall back' && chance(0.6);
	$kind = 'table'
		if $kind eq 'view' && !@{ $schema->{views} } || $kind eq 'lateral' && ($no_lateral || !@{ $self->{items} });
	my %item    = (alias => $alias, rows => $table->{rows}, columns => $table->{columns}, unique => 0);
	my $name    = $table->{name};
	my $columns = join ', ', @{ $table->{columns} };

	if ($kind eq 'table')
	{
		$item{sql}    = "$name $alias";
		$item{unique} = $table->{unique};
		$self->has("table $table->{kind}");
		$self->has('the same table twice') if grep { ($_->{table} || '') eq $name } @{ $self->{items} };
		$item{table} = $name;
		return \%item;
	}
	$self->has("from $kind");
	if ($kind eq 'view')
	{
		my $view = pick(@{ $schema->{views} });
		@item{qw(rows columns)} = @$view{qw(rows columns)};
		$item{sql} = "$view->{name} $alias";
		$self->has($view->{kind});
	}
	elsif ($kind eq 'only')   { $item{sql} = "ONLY $name $alias"; }
	elsif ($kind eq 'sample') { $item{sql} = "$name $alias TABLESAMPLE BERNOULLI (70) REPEATABLE (3)"; }
	elsif ($kind eq 'offset')
	{
		my $other = pick(@{ $schema->{tables} })->{name};
		my @ends  = (
			'',
			' WHERE x2 IS NOT NULL',
			" WHERE k4 < (SELECT max(k4) FROM $other)",
			" WHERE EXISTS (SELECT FROM $other WHERE k4 > 1)");
		shift @ends if $self->{subject} eq 'fall back';
		$item{sql} = "(SELECT * FROM $name" . pick(@ends) . " OFFSET 0) $alias";
	}
	elsif ($kind eq 'subquery') { $item{sql} = "(SELECT $columns FROM $name WHERE k4 < 3) $alias"; }
	elsif ($kind eq 'union')    { $self->union_item(\%item, $table); }
	elsif ($kind eq 'distinct')
	{
		$item{sql}     = "(SELECT DISTINCT k4, k8, x4, x2 FROM $name) $alias";
		$item{columns} = [qw(k4 k8 x4 x2)];
	}
	elsif ($kind eq 'grouped')
	{
		# The average of floats overflows, where the plan comes to it.
		$self->{risky} = 1;
		$item{sql} =
			"(SELECT k4, count(*) AS x8, sum(x8) AS n, max(x4) AS x4, min(d) AS d, avg(f8) AS f8 FROM $name GROUP BY k4"
			. pick('', '', ' HAVING count(*) > 1')
			. ") $alias";
		@item{qw(columns rows)} = ([qw(k4 x8 n x4 d f8)], $schema->{keys} + 1);
	}
	elsif ($kind eq 'cte' || $kind eq 'materialized')
	{
		my $with = "c_$alias";
		push @{ $self->{with} },
			  "$with AS "
			. ($kind eq 'cte' ? pick('', 'NOT MATERIALIZED ') : 'MATERIALIZED ')
			. "(SELECT * FROM $name"
			. pick('', ' WHERE k8 < 3') . ')';
		$item{sql} = "$with $alias";
	}
	elsif ($kind eq 'values')
	{
		$item{sql} = "(VALUES (0, 1::int8, 2), (1, 2, 3), (1, NULL, -1), (2, 0, NULL)) $alias (k4, k8, x4)";
		@item{qw(columns rows)} = ([qw(k4 k8 x4)], 4);
	}
	elsif ($kind eq 'series')
	{
		$item{sql} = "generate_series(0, 4) $alias (k4)";
		@item{qw(columns rows)} = ([qw(k4)], 5);
	}
	elsif ($kind eq 'lateral')
	{
		my $outer = pick(@{ $self->{items} });
		my ($column) = grep { /^k4$|^k8$/ } @{ $outer->{columns} };
		$item{lateral} = 1;
		$item{sql} =
			  "LATERAL (SELECT * FROM $name z WHERE z.k4 = $outer->{alias}.$column"
			. pick('', ' OFFSET 0', ' LIMIT 100')
			. ") $alias";
	}
	elsif ($kind eq 'joined')
	{
		my $other = pick(@{ $schema->{tables} });
		if ($table->{rows} * $other->{rows} > 400) { $item{sql} = "$name $alias"; }
		else
		{
			$item{sql}  = "(SELECT y.* FROM $name y JOIN $other->{name} z ON y.k8 = z.k8) $alias";
			$item{rows} = 3 * $table->{rows};
		}
	}
	return \%item;
}

sub union_item
{
	my ($self, $item, $table) = @_;
	my $other = pick(@{ $self->{schema}{tables} });
	my %there = map  { $_ => 1 } @{ $other->{columns} };
	my @both  = grep { $there{$_} } @{ $table->{columns} };
	my $list  = join ', ', @both;
	my $kind  = pick('UNION ALL', 'UNION ALL', 'UNION');

	# UNION would show one of several equal numbers of different scale, which one depends on the plan.
	@both            = grep { /^(id|k2|k4|k8|x2|x4|x8|kt|d|b)$/ } @both if $kind eq 'UNION';
	$list            = join ', ', @both;
	$item->{sql}     = "(SELECT $list FROM $table->{name} $kind SELECT $list FROM $other->{name}) $item->{alias}";
	$item->{columns} = \@both;
	$item->{rows} += $other->{rows};
	return;
}

# --- conditions ---

# Equalities between a new item and those before it.
sub conditions_with
{
	my ($self, $item) = @_;
	my @conditions;
	for (1 .. weighted(0 => $self->{simple} ? 0.1 : 0.6, 1 => 10, 2 => 3, 3 => 0.5))
	{
		my $other    = pick(@{ $self->{items} });
		my $equality = $self->equality($other, $item);
		push @conditions, $equality if defined $equality;
	}
	$self->has('Cartesian') unless @conditions;
	return @conditions;
}

# Leads from the item before to this one, and from this one, where it is the last, to the first.
sub ring_conditions
{
	my ($self, $item, $before, $first, $out, $in) = @_;
	my @conditions;
	for my $pair ([ $before, $item ], [ $item, $first ])
	{
		my ($from, $to) = @$pair;
		next unless $to && grep({ $_ eq $out } @{ $from->{columns} }) && grep({ $_ eq $in } @{ $to->{columns} });
		push @conditions, "$from->{alias}.$out = $to->{alias}.$in";
		$self->{fewer} *= $self->{schema}{keys} / 1.5;
	}
	return @conditions;
}

sub equality
{
	my ($self, $left, $right) = @_;
	my %left  = map { $_ => 1 } @{ $left->{columns} };
	my %right = map { $_ => 1 } @{ $right->{columns} };
	my ($one, $other);
	my $way =
		$self->{simple}
		? weighted(same => 4, family => 1)
		: weighted(same => 10, family => 5, expression => 1, distinct => 0.3, arithmetic => 0.5);
	my ($l, $r) = ($left->{alias}, $right->{alias});
	if ($self->{subject} eq 'expression' && chance(0.3))
	{
		my @ways;
		push @ways, "$l.k4 % 3 = $r.k4", "$l.k4 = $r.k4 / 2", "$l.k4 % 5 = abs($r.k4)" if $left{k4} && $right{k4};
		push @ways, "date_trunc('month', $l.ts) = date_trunc('month', $r.ts)", "$l.ts::date = $r.ts::date" if $left{ts} && $right{ts};
		push @ways, "lower($l.s) = lower($r.s)", "left($l.s, 1) = left($r.s, 1)" if $left{s} && $right{s};
		if (@ways) { $self->has('key of a function'); $self->{risky} = 1; return pick(@ways); }
	}
	if ($way eq 'expression' || $way eq 'arithmetic')
	{
		$self->has('key of an expression');
		return undef unless $left{k4} && $right{k4};

		# Keys at the edge of their type raise, and which rows get a key is a matter of the plan.
		$self->{risky} = 1 if $way eq 'arithmetic';
		return $way eq 'arithmetic'
			? pick("$l.k4 + 1 = $r.k4", "$l.k4 = $r.k4 * 2", "-$l.k4 = -$r.k4", "abs($l.k4) = $r.k4")
			: pick(
			"$l.k4::int8 = $r.k4",
			"$l.k4::text = $r.k4::text",
			"($l.k4, 1) = ($r.k4, 1)",
			"coalesce($l.k4, 0) = $r.k4");
	}
	if ($way eq 'family')
	{
		my ($first, $second) = sample(2, @{ pick(@families) });
		($one, $other) = ($first, $second) if $left{$first} && $right{$second};
	}
	unless ($one)
	{
		my @keys = grep { /^k/ && $left{$_} && $right{$_} } sort keys %left;
		return undef unless @keys;
		my @whole = grep { /^(k2|k4|k8)$/ } @keys;
		$one = $other = @whole && chance($self->{simple} ? 0.8 : 0.5) ? pick(@whole) : pick(@keys);
	}
	my $many = $Schema::MANY{$one} && $Schema::MANY{$other} && $left->{rows} > 90 && $right->{rows} > 90;
	$self->{fewer} *=
		$many ? max($left->{rows}, $right->{rows}) * 0.6 : $self->{schema}{keys} / ("$one$other" =~ /kb/ ? 2 : 1.5);
	my @types = sort map { $Schema::TYPE{$_} } $one, $other;
	$self->has($types[0] eq $types[1] ? "key $types[0]" : "key $types[0] = $types[1]");
	if ($way eq 'distinct') { $self->has('IS NOT DISTINCT FROM'); return "$l.$one IS NOT DISTINCT FROM $r.$other"; }
	return chance(0.5) ? "$l.$one = $r.$other" : "$r.$other = $l.$one";
}

# A column of any item, out of the names given; undef where there is none.
sub column
{
	my ($self, @names) = @_;
	my %wanted = map { $_ => 1 } @names;
	for (1 .. 8)
	{
		my $item    = pick(@{ $self->{items} });
		my @columns = grep { $wanted{$_} } @{ $item->{columns} };
		return "$item->{alias}." . pick(@columns) if @columns;
	}
	return undef;
}

# A condition on one item.
sub filter
{
	my ($self, $item) = @_;
	my %there   = map { $_ => 1 } @{ $item->{columns} };
	my $a       = $item->{alias};
	my @choices = (
		"$a.k4 = " . between(0, 2),
		"$a.k4 = " . between(0, 2),
		"$a.k4 IN (0, 1, 3)",
		"$a.k4 <> 1",
		"$a.k4 IS NOT NULL",
		"$a.k4 IS NULL");
	push @choices, "$a.x4 > " . between(-3, 3), "($a.x4 < 1 OR $a.k4 = 0)", "$a.x4 = $a.k4", "NOT ($a.x4 > 2)",
		"coalesce($a.k4, 0) = coalesce($a.x4, 0)"
		if $there{x4};
	push @choices, "$a.k4 = $a.k8", "$a.k8 = 1" if $there{k8};
	push @choices, "$a.b", "NOT $a.b", "$a.b IS NOT TRUE" if $there{b};
	push @choices, "$a.s LIKE 'a%'" if $there{s};
	push @choices, "$a.f8 IS NOT NULL", "$a.f8 > 0" if $there{f8};
	push @choices, "$a.d <> '2020-02-02'", "$a.d <= current_date" if $there{d};

	if (chance(0.04) && $there{x4})
	{
		$self->has('condition that may raise');
		$self->{risky} = 1;
		return pick("10 / $a.x4 > 1", "$a.x4 * 100000 > 3", "sqrt($a.x4) < 2");
	}
	return pick(@choices);
}

sub draw_conditions
{
	my ($self) = @_;
	my $where = $self->{where};
	for (1 .. weighted(0 => 5, 1 => 3, 2 => 2))
	{
		$self->has('condition on one table');
		push @$where, $self->filter(pick(@{ $self->{items} }));
	}
	if (@{ $self->{items} } > 1 && chance($self->{simple} ? 0.02 : 0.15)) { push @$where, $self->condition_on_two; }
	if ($self->{subject} eq 'excluded' && @{ $self->{items} } > 1) { push @$where, $self->excluded for 1 .. weighted(1 => 5, 2 => 3, 4 => 1); }
	if (@{ $self->{items} } > 2 && $self->{subject} eq 'pair') { push @$where, $self->raising_condition; }
	if ($self->{subject} eq 'sub-query' || chance($self->{simple} ? 0.04 : 0.12)) { push @$where, $self->sublink; }
	if (chance(0.03))
	{
		$self->has('constant condition');
		push @$where, pick('false', 'true', '1 = 1', 'NULL', "current_date > '2000-01-01'");
	}
	if (@{ $self->{items} } > 2 && chance(0.15))
	{
		my ($left, $right) = sample(2, @{ $self->{items} });
		my $equality = $self->equality($left, $right);
		if (defined $equality) { push @$where, $equality; $self->has('one more equality'); }
	}
	return;
}

# What leaves out rows that are a join themselves, and semi-joins with two tables.
sub excluded
{
	my ($self) = @_;
	my ($left, $right) = sample(2, @{ $self->{items} });
	my ($l, $r) = map { $_->{alias} } $left, $right;
	my @of_both = grep { my $name = $_; /^(k|x4|s|d|id)/ && grep { $_ eq $name } @{ $right->{columns} } } @{ $left->{columns} };
	my $same = @of_both ? pick(@of_both) : 'k4';
	my ($t) = map { $_->{name} } sample(1, @{ $self->{schema}{tables} });
	my ($k, $m) = (pick('k4', 'k8'), pick('k4', 'k8'));
	my $more = pick('', '', ' AND z.x4 > 0', " AND z.k4 <> $l.k4");
	my $pair = "SELECT 1 FROM $t z WHERE z.$k = $l.$k AND z.$m = $r.$m$more";
	my $kind = weighted(unequal => 6, order => 6, 'not exists, two' => 5, 'exists, two' => 3, 'in, two' => 2, expressions => 1);
	$self->has("excluded: $kind");
	$self->{risky} = 1 if $kind eq 'expressions';
	return {
		unequal           => "$l.$same <> $r.$same",
		order             => "$l.$same " . pick('<', '<=', '>', '>=') . " $r.$same",
		'not exists, two' => "NOT EXISTS ($pair)",
		'exists, two'     => "EXISTS ($pair)",
		'in, two'         => "($l.$k, $r.$m) IN (SELECT z.$k, z.$m FROM $t z)",
		expressions       => pick("$l.k4 % 3 <> $r.k4", "$l.k4 + 1 <> abs($r.k4)", "$l.k4 / $l.k4 <> $r.k4")
	}->{$kind};
}

sub condition_on_two
{
	my ($self) = @_;
	my ($left, $right) = map { $_->{alias} } sample(2, @{ $self->{items} });
	$self->has('condition on two tables');
	if (chance(0.1)) { $self->{risky} = 1; return "$left.k4 + $right.k4 = 3"; }
	return pick(
		"$left.k4 < $right.k4",
		"$left.k4 <> $right.k4",
		"($left.k4 = $right.k4 OR $left.k4 = 0)",
		"coalesce($left.k4, $right.k4) = 1",
		"$left.k4 = ANY (ARRAY[$right.k4, 1])",
		"CASE WHEN $left.k4 > 1 THEN $right.k4 = 1 ELSE true END",
		"$left.k4 IS DISTINCT FROM $right.k4");
}

# Raises an error for few rows of one item, which a third may leave out: the planner must not join the two first.
sub raising_condition
{
	my ($self) = @_;
	my ($left, $right) = map { $_->{alias} } sample(2, @{ $self->{items} });
	my $rare = between(0, $self->{schema}{keys} + 2);
	$self->has('condition on two tables that may raise');
	return pick(
		"100 / ($left.k4 - $rare) > $right.k4",
		"$right.k4 * 10 % ($left.k4 - $rare) < 3",
		"coalesce($right.k4 / ($left.k4 - $rare), 0) = 0",
		"sqrt(($left.k4 - $rare) ^ 2 - 1) > $right.k4");
}

sub sublink
{
	my ($self) = @_;
	my ($item, $other) = (sample(2, @{ $self->{items} }), $self->{items}[0]);
	my ($a, $b) = map { $_->{alias} } $item, $other;
	my @keys = grep { /^k[48]$/ } @{ $item->{columns} };

	# Rows that another join or condition asks for have no NULL in its key.
	my $asked = join ' ', $self->{from}, @{ $self->{where} };
	my @free  = grep { $asked !~ /\b$a\.$_\b/ } @keys;
	my $k     = pick(@free ? @free : @keys);
	my ($t, $u) = map { $_->{name} } sample(2, @{ $self->{schema}{tables} });
	my $kind = weighted(
		exists       => 3,
		in           => 3,
		'not exists' => 6,
		'not in'     => 1,
		scalar       => 1,
		correlated   => 1,
		any          => 1,
		two          => 2,
		join         => 2,
		within       => 1);
	$self->has("sub-query $kind");
	return {
		exists       => "EXISTS (SELECT 1 FROM $t z WHERE z.$k = $a.$k" . pick('', ' AND z.x4 > 0') . ')',
		in           => "$a.$k IN (SELECT z.$k FROM $t z" . pick('', ' WHERE z.x4 > 0') . ')',
		'not exists' => "NOT EXISTS (SELECT 1 FROM $t z WHERE z.$k = $a.$k)",
		'not in'     => "$a.k4 NOT IN (SELECT z.k4 FROM $t z WHERE z.k4 IS NOT NULL)",
		scalar       => "$a.k4 <= (SELECT avg(z.k4) FROM $t z)",
		correlated   => "$a.k4 = (SELECT max(z.k4) FROM $t z WHERE z.k8 = $a.k4)",
		any          => "$a.k4 = ANY (SELECT z.k8 FROM $t z)",
		two          => pick('', 'NOT ') . "EXISTS (SELECT 1 FROM $t z WHERE z.k4 = $a.k4 AND z.k8 = $b.k4)",
		join         => pick('', 'NOT ') . "EXISTS (SELECT 1 FROM $t z JOIN $u y ON y.k8 = z.k8 WHERE z.k4 = $a.k4)",
		within       => "EXISTS (SELECT 1 FROM $t z WHERE z.k4 = $a.k4 AND "
			. pick('', 'NOT ')
			. "EXISTS (SELECT 1 FROM $u y WHERE y.k8 = z.k8))"
	}->{$kind};
}

1;
