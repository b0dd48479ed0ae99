# Random queries over a Schema: a join, aggregates over it, and what may stand around them.
package Query;
use strict;
use warnings;
use Draw;
use Aggregate;
use Around;
use From;
use Schema;

our @ISA = qw(From Around);

# What is drawn is one object: {statements} are run and compared, {explain} ends with the plan of the aggregates, and
# {features} names what is in it.
sub draw
{
	my ($class, $schema) = @_;
	my $self = bless { schema => $schema, features => {}, items => [], where => [] }, $class;

	# Three of five queries hold nothing but what the planner is meant to factorize, and half of those no floats. As many
	# have a subject, which chance alone would seldom draw in full.
	$self->{subject} = chance(0.4) ? '' : weighted(
		ring         => 2,
		'sub-query'  => 1,
		extremum     => 2,
		outer        => 2,
		'row around' => 1,
		'fall back'  => 1,
		filter       => 1,
		expression   => 3,
		sets         => 2,
		excluded     => 5,
		raising      => 1,
		'rows alone' => 3,
		pair         => 2);
	$self->has("subject: $self->{subject}") if $self->{subject};
	$self->{simple} = chance($self->{subject} ? 0.8 : 0.3);
	$self->{exact}  = $self->{simple} && chance(0.5);
	$self->draw_join;
	$self->draw_conditions;
	$self->{aggregate} = Aggregate->new($self);
	$self->draw_targets;
	$self->draw_around;
	return $self;
}

sub has { my ($self, @features) = @_; $self->{features}{$_} = 1 for @features; return; }

# --- targets ---

# What dashboards group and select by: functions of one column, which may raise an error.
sub function_of_column
{
	my ($self) = @_;
	my $kind   = weighted(time => 4, text => 3, number => 4);
	my @of     = { time => [qw(ts kts tz ktz d kd)], text => [qw(s kt kv kc)], number => [qw(x4 k4 n np x8 x2)] }->{$kind}->@*;
	my $x      = $self->column(@of);
	return undef unless $x;
	my ($name) = $x =~ /\.(\w+)/;
	my $type   = $Schema::TYPE{$name};
	$self->has("function of $kind");
	return pick(
		"date_trunc('" . pick(qw(month week day hour quarter year)) . "', $x)",
		"$x\::date",
		"extract(" . pick(qw(year month dow hour)) . " FROM $x\::timestamp)::int",
		"to_char($x, 'YYYY-MM')",
		"$x + " . ($type eq 'date' ? '1' : "interval '1 day'"),
		"CASE WHEN $x < '2020-02-03' THEN 'before' ELSE to_char($x, 'Day') END") if $kind eq 'time';
	return pick("lower($x)", "upper($x)", "left($x, 1)", "substr($x, 2)", "$x || '-'", "concat($x, 'x')", "btrim($x)",
		"$x ~ '[a-m]'", "length($x)", "replace($x, 'a', 'b')", "$x LIKE 'a%'", "$x\::int") if $kind eq 'text';
	return pick("$x / 2", "($x)::int % 3", "10 / $x", "round($x)::int", "floor($x / 2.0)::int", "greatest($x, 1)::int",
		"width_bucket($x\::numeric, 0, 10, 5)", "$x\::text", "sign($x)::int", "abs($x)::int", "$x\::int2",
		"CASE WHEN $x > 0 THEN 100 / $x ELSE 0 END::int", "power($x, 2)::int");
}

# Columns to group by: those whose equal values look the same, and rarely others.
sub group_column
{
	my ($self) = @_;
	if (chance($self->{simple} ? 0.02 : 0.12))
	{
		$self->has('group by an expression');
		my $a = pick(@{ $self->{items} })->{alias};
		return pick(
			"$a.k4 + 1", "$a.k4 % 2",
			"coalesce($a.k4, 0)",
			"$a.k4 IS NULL",
			"($a.k4 > 1)::int",
			"CASE WHEN $a.k4 > 1 THEN 'many' ELSE 'few' END",
			"$a.k4::text");
	}
	my $share = { expression => 0.7, 'rows alone' => 0.2 }->{ $self->{subject} } // 0;
	return $self->function_of_column if chance($share);
	my $column = $self->column(
		qw(k2 k4 k8 kt kv kd kts ktz kb ku ke ko id x2 x4 b d s tm ka ky kw),
		($self->{simple}       ? () : qw(iv mo kc kx kj ki kiv kq)),
		chance($self->{simple} ? 0.05 : 0.15) ? qw(kn km kf kg n f8) : qw(k4 k8));
	return undef unless $column;
	my ($name) = $column =~ /\.(\w+)/;
	$self->has("group by $Schema::TYPE{$name}");
	$self->{float}    = 1 if $name =~ /^(kf|kg|f8)$/;
	$self->{unstable} = 1 if $name =~ /^(kn|km|n|kf|kg|f8|iv|kc|kx|kj|ki|kiv|kq)$/;
	return $column;
}

sub draw_groups
{
	my ($self) = @_;
	return () if chance($self->{subject} eq 'sets' ? 0.05 : 0.35);
	my %seen;
	my @groups = grep { defined && !$seen{$_}++ } map { $self->group_column } 1 .. weighted(1 => 6, 2 => 3, 3 => 1);
	my %tables = map  { /^(\w)\./ ? ($1 => 1) : () } @groups;
	$self->has('group by columns of several tables') if keys %tables > 1;
	return @groups;
}

sub draw_targets
{
	my ($self)  = @_;
	my @groups  = $self->draw_groups;
	my @targets = map { chance(0.95) ? $_ : "$_ IS NULL" } @groups;
	my @extra;
	my $aggregate = $self->{aggregate};
	my ($unique) = grep { $_->{unique} } @{ $self->{items} };
	if (@groups && $unique && chance($self->{simple} ? 0.03 : 0.1) && $self->{from} !~ /(LEFT|RIGHT|FULL) JOIN/)
	{
		$self->has('group by a primary key');
		@groups = ("$unique->{alias}.id", grep { !/\.id$/ } @groups);
		push @extra, "$unique->{alias}." . pick(grep { /^(x4|s|d|b|k4)$/ } @{ $unique->{columns} });
	}
	my @aggregates = map { $aggregate->draw } 1 .. weighted(1 => 4, 2 => 4, 3 => 2, 5 => 1);
	push @aggregates, $aggregate->over_aggregates if chance(0.2);
	if ($self->{subject} eq 'rows alone' && @groups) { return $self->draw_rows_alone(@groups); }
	if (@groups && chance(0.04))
	{
		$self->has('window');
		push @aggregates, pick('rank() OVER (ORDER BY count(*))', 'sum(count(*)) OVER ()');
	}
	if (chance($self->{simple} ? 0.005 : 0.02))
	{
		$self->has('set-returning target');
		push @aggregates, 'generate_series(1, 2)';
	}
	if (chance(0.03))
	{
		$self->has('sub-query in the targets');
		my $t = pick(@{ $self->{schema}{tables} })->{name};
		push @aggregates, "(SELECT count(*) FROM $t)";
	}
	push @aggregates, 'GROUPING(' . join(', ', sample(between(1, scalar @groups), @groups)) . ')'
	  if @groups && chance($self->{subject} eq 'sets' ? 0.5 : 0.01);
	@targets = sample(scalar @targets, @targets) if chance(0.3);
	pop @targets                                 if @targets && chance(0.1);
	my @all    = chance(0.8) ? (@targets, @extra, @aggregates) : (@aggregates, @targets, @extra);
	my $select = join ', ', @all;
	my $sql    = 'SELECT ' . (chance(0.03) ? do { $self->has('distinct'); 'DISTINCT ' } : '') . $select;
	$sql .= " FROM $self->{from}";
	$self->{select} = $sql;
	$self->{tail}   = '';
	$self->{tail}   = ' GROUP BY ' . $self->grouping(@groups) if @groups;
	if (chance(0.15))
	{
		$self->has('having');
		my $having = $self->having(@groups);
		$self->{tail} .= " HAVING $having";
		$self->has_condition_of_groups(@groups) if $having =~ / AND /;
	}
	$self->{tail} .= $self->ordering(scalar @all);
	$self->{groups} = \@groups;
	return;
}

# Rows without aggregates: GROUP BY, or DISTINCT.
sub draw_rows_alone
{
	my ($self, @groups) = @_;
	my @all = map { chance(0.95) ? $_ : "$_ IS NULL" } @groups;
	push @all, $self->function_of_column // '1' if chance(0.2);
	push @all, pick('1', "'constant'", "'2.50'::numeric") if chance(0.1);
	$self->{tail} = '';
	my $head = 'SELECT ';
	if (chance(0.4))
	{
		$self->has('groups alone');
		$self->{tail} = ' GROUP BY ' . join ', ', 1 .. @all;
		if ($all[0] eq $groups[0] && chance(0.2))
		{
			$self->{tail} .= " HAVING $groups[0] " . pick('IS NOT NULL', "> $groups[-1]", "= $groups[0]");
			$self->has_condition_of_groups(@groups);
		}
	}
	else
	{
		$self->has('distinct rows');
		push @all, 'generate_series(1, 2)' if chance(0.02);
		if (chance(0.02))
		{
			$self->has('window');
			push @all, 'rank() OVER (ORDER BY ' . $self->column('k4', 'id') . ')';
		}
		$head .= 'DISTINCT ';
		if (chance(0.04) && !$self->{unstable})
		{
			$self->has('distinct on');
			$head .= "ON ($all[0]) ";
			$self->{tail} = ' ORDER BY ' . join ', ', 1 .. @all;
		}
	}
	$self->{select} = $head . join(', ', @all) . " FROM $self->{from}";
	$self->{tail} .= $self->ordering(scalar @all) unless $self->{tail} =~ /ORDER BY/;
	$self->{groups} = \@groups;
	return;
}

# PostgreSQL makes a condition of WHERE of what HAVING says of groups, and which rows that meets is a matter of the plan.
sub has_condition_of_groups
{
	my ($self, @groups) = @_;
	$self->{risky} = 1 if grep { !/^\w\.\w+$/ } @groups;
	return;
}

sub grouping
{
	my ($self, @groups) = @_;
	my $list = join ', ', @groups;
	return $list if chance($self->{subject} eq 'sets' ? 0.05 : 0.95);
	$self->has('grouping sets');
	my ($one, $other) = (pick(@groups), pick(@groups));
	return pick("ROLLUP ($list)", "CUBE ($list)", "GROUPING SETS (($list), ())", "GROUPING SETS (($one), ($other), ($list))",
		"GROUPING SETS ((), ($one, $other), ())", "$one, ROLLUP ($list)", "DISTINCT ROLLUP ($list), CUBE ($one)");
}

sub having
{
	my ($self, @groups) = @_;
	my $aggregate = $self->{aggregate};
	my $condition = pick(
		'count(*) > ' . between(0, 8),
		$aggregate->whole . ' > ' . between(0, 5),
		$aggregate->whole . ' IS NOT NULL',
		'count(*) % 2 = 0',
		'sum(1) > 3',
		'count(*) > 0 AND ' . ($groups[0] ? "$groups[0] IS NOT NULL" : 'true'),
		'false',
		'NULL IS NULL',
		'count(*) > (SELECT avg(z.k4) FROM t0 z)',
		'max(' . $aggregate->{query}{items}[0]{alias} . '.k4) = 2');

	# What has no aggregate is a condition on rows, which scans may check before they are joined.
	if ($condition =~ /AND (.*) IS NOT NULL$/ && $1 !~ /^\w+\.\w+$/)
	{
		$self->has('having that may raise');
		$self->{risky} = 1;
	}
	return $condition;
}

sub ordering
{
	my ($self, $count) = @_;
	return '' if chance(0.8) || $self->{unstable};
	$self->has('order by');
	my $sql = ' ORDER BY ' . join ', ', map { $_ . (chance(0.2) ? ' DESC NULLS LAST' : '') } 1 .. $count;
	if (!$self->{float} && chance(0.4))
	{
		$self->has('limit');
		$sql .= pick(' LIMIT 3', ' OFFSET 1', ' LIMIT 2 OFFSET 1', ' FETCH FIRST 2 ROWS WITH TIES');
	}
	return $sql;
}

1;
