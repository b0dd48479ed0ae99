#include "core/relational/streamed/join_shape.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/planner/factorized_plan.hpp"

extern "C" {
#include "optimizer/cost.h"
#include "utils/selfuncs.h"
}

#include <numeric>

namespace btml::pg::planner {

using namespace relational;
using QueryJoin = planner::JoinShape;

namespace {

// An aggregate's question: what it multiplies, and what must hold, by table of the plan.
struct Question {
    CellKind kind = CellKind::count;
    std::vector<std::vector<int>> factors, present, conditions;

    explicit Question(size_t tables) : factors(tables), present(tables), conditions(tables) {}
};

class JoinPlanner {
  public:
    JoinPlanner(const QueryShape& query, double groups, RunContext& context)
        : query_(query), join_(query.join), groups_(groups), context_(context) {}

    PlannedJoin plan();

  private:
    struct TreeNode {
        int parent = -1;
        std::vector<int> separator;
        StreamedJoin join = StreamedJoin::inner;
        std::vector<int> children;
    };

    int find_root() const;
    int group_table(const GroupShape& group, int root) const;
    bool covers(int table) const;
    void find_tree();
    void find_inner_tree(int root);
    void hang_tables();
    void place(int node);
    void add_tables();
    void add_table(int place);
    void add_bag(int place);
    std::vector<int> tables_of(const std::vector<int>& bag) const;
    void read_by_bags();
    double estimate_bag(int place) const;
    void add_groups();
    void add_group(const GroupShape& group, int number);
    void add_aggregate(const AggregateShape& aggregate);
    void add_bound(Oid type, const List* terms);
    Question count_of(const AggregateShape& aggregate);
    Question sum_of(const AggregateShape& aggregate, const Term& term, const Question& count);
    Question extremum_of(const AggregateShape& aggregate, const Question& count);
    int ask(const Question& question, int place);
    bool asks_for_factors(const Question& question, int place) const;
    void estimate();
    double estimate_keys(int place) const;
    std::string describe(int place) const;
    std::string attribute_name(int number) const;
    std::string attribute_names(const std::vector<int>& attributes) const;

    const std::vector<int>& bag(int place) const { return bags_[node_at_[place] - join_.table_count]; }
    bool is_bag(int place) const { return planned_.tables[place] < 0; }
    int root() const { return planned_.plan.streamed.root(); }
    StreamedTable& table(int place) { return planned_.plan.streamed.tables[place]; }
    const StreamedTable& table(int place) const { return planned_.plan.streamed.tables[place]; }
    const Attribute* attribute(int number) const { return items<const Attribute>(join_.attributes)[number]; }
    int key_column(int place, int attribute);
    int add_column(int place, const ColumnReading& column);
    int add_column(int place, Expr* expression, Reading reading, int dictionary);
    int add_arithmetic(int place, Expr* expression);
    int add_factor_column(int place, const Factor& factor, bool value_matters);
    int add_value_column(int place, const Factor& factor, CellKind cell);
    int place_of(const Factor& factor) const { return factor.table < 0 ? root() : places_[factor.table]; }
    int dictionary(const KeyType& type);
    int attribute_dictionary(int attribute);
    int measure(int place, int column);

    const QueryShape& query_;
    const QueryJoin& join_;
    const double groups_;
    RunContext& context_;
    PlannedJoin planned_;
    std::vector<TreeNode> nodes_;              // the query's tables, then bags
    std::vector<std::vector<int>> bags_;       // attributes
    std::vector<double> bag_bounds_;           // on their rows
    std::vector<int> node_at_;                 // by place in the plan
    std::vector<int> places_;                  // by node: its place in the plan
    std::vector<int> attribute_dictionaries_;  // −1: none yet
    std::vector<std::vector<int>> carried_;    // by place: numbers of the query's groups in its message, in order
    std::vector<std::vector<int>> own_groups_; // by place
};

bool same_expression(const Expr* a, const Expr* b) {
    return pg_call([=] { return equal(a, b); });
}

Oid base_type(const Expr* expression) {
    return pg_call([=] { return getBaseType(exprType(reinterpret_cast<const Node*>(expression))); });
}

bool needs_dictionary(const KeyType& type) {
    return type.kind == KeyKind::bytes || type.kind == KeyKind::generic;
}

Reading reading_of(Oid type) {
    switch (type) {
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case BOOLOID:
    case OIDOID:
    case DATEOID:
    case TIMEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
        return Reading::integer;
    case FLOAT4OID:
    case FLOAT8OID:
        return Reading::number;
    case NUMERICOID:
        return Reading::decimal;
    default:
        return Reading::presence;
    }
}

StreamedType streamed_type(Reading reading) {
    switch (reading) {
    case Reading::number:
        return StreamedType::number;
    case Reading::decimal:
        return StreamedType::decimal;
    default:
        return StreamedType::integer;
    }
}

// The table from which the group's value can be read when `root` is the root: the root itself where it has the column
// or an attribute that must equal it.
int JoinPlanner::group_table(const GroupShape& group, int root) const {
    if (group.table == root || join_.tables[group.table].join != StreamedJoin::inner) return group.table;
    for (const TableKey* const key : items<const TableKey>(join_.tables[group.table].keys))
        if (same_expression(key->expression, group.expression) && join_.key(root, key->attribute)) return root;
    return group.table;
}

bool JoinPlanner::covers(int table) const {
    for (const GroupShape* const group : items<const GroupShape>(query_.groups))
        if (group_table(*group, table) != table) return false;
    return true;
}

// The root sends no message, so that its rows cost least: the largest table that has all group columns, if there is
// one.
int JoinPlanner::find_root() const {
    int best = -1;
    bool best_covers = false;
    for (int t = 0; t < join_.table_count; t++) {
        if (join_.tables[t].join != StreamedJoin::inner) continue;
        const bool covers_all = covers(t);
        const double rows = join_.tables[t].relation->rows;
        if (best < 0 || covers_all > best_covers ||
            (covers_all == best_covers && rows > join_.tables[best].relation->rows)) {
            best = t;
            best_covers = covers_all;
        }
    }
    return best;
}

// The tables that are joined by inner joins, and bags where these make a cycle, stand in the tree of their attributes.
void JoinPlanner::find_inner_tree(int root) {
    std::vector<int> inner;
    std::vector<std::vector<int>> attributes;
    std::vector<double> rows;
    for (int t = 0; t < join_.table_count; t++) {
        if (join_.tables[t].join != StreamedJoin::inner) continue;
        inner.push_back(t);
        attributes.emplace_back();
        for (const TableKey* const key : items<const TableKey>(join_.tables[t].keys))
            if (!attribute(key->attribute)->is_private) attributes.back().push_back(key->attribute);
        rows.push_back(std::max(1.0, join_.tables[t].relation->rows));
    }
    const auto at = static_cast<int>(std::find(inner.begin(), inner.end(), root) - inner.begin());
    const relational::JoinShape shape = join_shape(attributes, rows, at, context_);
    bags_ = shape.bags;
    bag_bounds_ = shape.bag_bounds;
    nodes_.resize(join_.table_count + bags_.size());
    const auto node = [&](int n) {
        const int tables = static_cast<int>(inner.size());
        return n < 0 ? -1 : n < tables ? inner[n] : join_.table_count + n - tables;
    };
    for (size_t n = 0; n < shape.nodes.size(); n++) {
        TreeNode& to = nodes_[node(static_cast<int>(n))];
        to.parent = node(shape.nodes[n].parent);
        to.separator = shape.nodes[n].separator;
    }
    for (int n : shape.order)
        if (shape.nodes[n].parent >= 0) nodes_[node(shape.nodes[n].parent)].children.push_back(node(n));
}

void JoinPlanner::hang_tables() {
    for (int t = 0; t < join_.table_count; t++) {
        const TableShape& table = join_.tables[t];
        if (table.join == StreamedJoin::inner) continue;
        TreeNode& node = nodes_[t];
        node.parent = table.partner;
        node.join = table.join;
        for (const TableKey* const key : items<const TableKey>(table.keys))
            if (join_.key(table.partner, key->attribute)) node.separator.push_back(key->attribute);
        auto& siblings = nodes_[table.partner].children;
        siblings.insert(siblings.begin(), t);
    }
}

void JoinPlanner::place(int node) {
    for (int child : nodes_[node].children) place(child);
    places_[node] = static_cast<int>(node_at_.size());
    node_at_.push_back(node);
    planned_.tables.push_back(node < join_.table_count ? node : -1);
}

void JoinPlanner::find_tree() {
    const int root = find_root();
    find_inner_tree(root);
    hang_tables();
    const size_t nodes = nodes_.size();
    places_.assign(nodes, 0);
    place(root);
    planned_.columns.assign(nodes, NIL);
    planned_.plan.readings.resize(nodes);
    planned_.plan.streamed.tables.resize(nodes);
    attribute_dictionaries_.assign(list_length(join_.attributes), -1);
    carried_.resize(nodes);
    own_groups_.resize(nodes);
}

int JoinPlanner::dictionary(const KeyType& type) {
    planned_.plan.dictionaries.push_back(type);
    return static_cast<int>(planned_.plan.dictionaries.size()) - 1;
}

int JoinPlanner::attribute_dictionary(int number) {
    const KeyType& type = attribute(number)->type;
    if (!needs_dictionary(type)) return -1;
    int& known = attribute_dictionaries_[number];
    if (known < 0) known = dictionary(type);
    return known;
}

int JoinPlanner::add_column(int place, const ColumnReading& column) {
    auto& readings = planned_.plan.readings[place];
    const auto known = std::find(readings.begin(), readings.end(), column);
    if (known != readings.end()) return static_cast<int>(known - readings.begin());
    readings.push_back(column);
    const Reading reading = column.reading == Reading::derived ? reading_of(column.type) : column.reading;
    table(place).columns.push_back(streamed_type(reading));
    return static_cast<int>(readings.size()) - 1;
}

// A value that may be arithmetic of columns.
int JoinPlanner::add_arithmetic(int place, Expr* expression) {
    auto* const node = reinterpret_cast<Node*>(expression);
    Arithmetic parts = {};
    const bool derived = pg_call([&] { return !is_total(node) && take_apart(node, &parts); });
    if (!derived) return add_column(place, expression, reading_of(base_type(expression)), -1);
    const int left = add_arithmetic(place, reinterpret_cast<Expr*>(parts.left));
    const int right = parts.right ? add_arithmetic(place, reinterpret_cast<Expr*>(parts.right)) : -1;
    return add_column(place, {Reading::derived, -1, -1, base_type(expression), {parts.operation, left, right}});
}

int JoinPlanner::add_column(int place, Expr* expression, Reading reading, int dictionary) {
    List*& expressions = planned_.columns[place];
    int position = 0;
    while (position < list_length(expressions) &&
           !same_expression(items<const Expr>(expressions)[position], expression))
        position++;
    if (position == list_length(expressions)) {
        List* const grown = pg_call([=, all = expressions] { return lappend(all, expression); });
        expressions = grown;
    }
    return add_column(place, {reading, position, dictionary, base_type(expression)});
}

int JoinPlanner::key_column(int place, int number) {
    if (is_bag(place)) {
        const auto& attributes = bag(place);
        return static_cast<int>(std::find(attributes.begin(), attributes.end(), number) - attributes.begin());
    }
    const int dictionary = attribute_dictionary(number);
    return add_column(place, join_.key(planned_.tables[place], number)->expression,
                      dictionary < 0 ? Reading::integer : Reading::dictionary, dictionary);
}

int JoinPlanner::add_factor_column(int place, const Factor& factor, bool value_matters) {
    const bool total = pg_call([&] { return is_total(reinterpret_cast<Node*>(factor.expression)); });
    if (total && !value_matters) return add_column(place, factor.expression, Reading::presence, -1);
    return add_arithmetic(place, factor.expression);
}

// An integer may be a factor of a product of decimals.
int JoinPlanner::add_value_column(int place, const Factor& factor, CellKind cell) {
    const int column = add_factor_column(place, factor, true);
    const bool decimal =
        cell == CellKind::decimal_sum || cell == CellKind::decimal_min || cell == CellKind::decimal_max;
    if (!decimal || table(place).columns[column] == StreamedType::decimal) return column;
    return add_column(place, {Reading::derived, -1, -1, NUMERICOID, {Operation::cast, column, -1}});
}

void JoinPlanner::add_bag(int place) {
    const auto& attributes = bag(place);
    table(place).columns.assign(attributes.size(), StreamedType::integer);
    planned_.plan.streamed.bags.push_back({place, attributes});
}

void JoinPlanner::add_table(int place) {
    const TreeNode& node = nodes_[node_at_[place]];
    table(place).queries.emplace_back();
    if (node.parent < 0) return;
    const int parent = places_[node.parent];
    StreamedChild child{place, node.join, {}};
    for (int number : node.separator) {
        table(place).key.push_back(key_column(place, number));
        child.key.push_back(key_column(parent, number));
    }
    table(parent).children.push_back(child);
}

// A bag joins the tables that bind several of its attributes, and all that have an attribute which none of these has.
std::vector<int> JoinPlanner::tables_of(const std::vector<int>& bag) const {
    const auto has = [&](int t, int attribute) { return join_.key(t, attribute) != nullptr; };
    std::vector<int> tables;
    for (int t = 0; t < join_.table_count; t++)
        if (std::count_if(bag.begin(), bag.end(), [&](int attribute) { return has(t, attribute); }) > 1)
            tables.push_back(t);
    const std::vector<int> binding = tables;
    for (int attribute : bag) {
        if (std::any_of(binding.begin(), binding.end(), [&](int t) { return has(t, attribute); })) continue;
        for (int t = 0; t < join_.table_count; t++)
            if (has(t, attribute) && std::find(tables.begin(), tables.end(), t) == tables.end()) tables.push_back(t);
    }
    return tables;
}

void JoinPlanner::read_by_bags() {
    auto& attributes = planned_.plan.streamed.attributes;
    attributes.resize(planned_.tables.size());
    std::vector<int> readers;
    for (const auto& bag : bags_)
        for (int t : tables_of(bag)) readers.push_back(t);
    for (int t : readers)
        for (const auto& bag : bags_)
            for (int number : bag) {
                if (!join_.key(t, number)) continue;
                const std::pair<int, int> pair(key_column(places_[t], number), number);
                auto& read = attributes[places_[t]];
                if (std::find(read.begin(), read.end(), pair) == read.end()) read.push_back(pair);
                table(places_[t]).held = true;
            }
}

// As many as PostgreSQL expects of the join of its tables, and no more than the AGM bound.
double JoinPlanner::estimate_bag(int place) const {
    Relids relids = nullptr;
    for (int t : tables_of(bag(place)))
        relids = pg_call([=, this] { return bms_union(relids, join_.tables[t].relids); });
    const RelOptInfo* const relation = pg_call([=, this] { return relation_of(join_.root, relids); });
    const double bound = bag_bounds_[node_at_[place] - join_.table_count];
    return relation ? std::min(bound, relation->rows) : bound;
}

void JoinPlanner::add_tables() {
    for (size_t place = 0; place < planned_.tables.size(); place++)
        if (is_bag(static_cast<int>(place))) add_bag(static_cast<int>(place));
    for (size_t place = 0; place < planned_.tables.size(); place++) add_table(static_cast<int>(place));
    for (StreamedTable& each : planned_.plan.streamed.tables) each.queries[0].children.assign(each.children.size(), 0);
    if (!bags_.empty()) read_by_bags();
}

void JoinPlanner::add_group(const GroupShape& group, int number) {
    const int root_table = planned_.tables[root()], from = group_table(group, root_table), place = places_[from];
    int dictionary = -1, column = -1;
    if (from == group.table) {
        dictionary = needs_dictionary(group.type) ? this->dictionary(group.type) : -1;
        column =
            add_column(place, group.expression, dictionary < 0 ? Reading::integer : Reading::dictionary, dictionary);
    } else
        for (const TableKey* const key : items<const TableKey>(join_.tables[group.table].keys))
            if (same_expression(key->expression, group.expression) && join_.key(from, key->attribute)) {
                dictionary = attribute_dictionary(key->attribute);
                column = key_column(place, key->attribute);
                break;
            }
    table(place).groups.push_back(column);
    own_groups_[place].push_back(number);
    planned_.plan.groups.push_back(
        {0, dictionary < 0 ? Reading::integer : Reading::dictionary, dictionary, base_type(group.expression)});
}

void JoinPlanner::add_groups() {
    int number = 0;
    for (const GroupShape* const group : items<const GroupShape>(query_.groups)) add_group(*group, number++);
    for (size_t place = 0; place < planned_.tables.size(); place++) {
        carried_[place] = own_groups_[place];
        for (const StreamedChild& child : table(static_cast<int>(place)).children)
            carried_[place].insert(carried_[place].end(), carried_[child.table].begin(), carried_[child.table].end());
    }
    for (size_t i = 0; i < carried_[root()].size(); i++)
        planned_.plan.groups[carried_[root()][i]].column = static_cast<int>(i);
}

bool JoinPlanner::asks_for_factors(const Question& question, int place) const {
    if (!question.factors[place].empty()) return true;
    const auto& children = table(place).children;
    return std::any_of(children.begin(), children.end(),
                       [&](const StreamedChild& child) { return asks_for_factors(question, child.table); });
}

// The number of the query of a table that asks this of it and of the tables below it; 0 where it only counts.
int JoinPlanner::ask(const Question& question, int place) {
    StreamedQuery query;
    query.factors = question.factors[place];
    query.present = question.present[place];
    query.conditions = question.conditions[place];
    bool plain = query.factors.empty() && query.present.empty() && query.conditions.empty();
    for (const StreamedChild& child : table(place).children) {
        query.children.push_back(ask(question, child.table));
        plain = plain && query.children.back() == 0;
    }
    if (plain) return 0;
    query.kind = asks_for_factors(question, place) ? question.kind : CellKind::count;
    auto& queries = table(place).queries;
    const auto known = std::find(queries.begin(), queries.end(), query);
    if (known != queries.end()) return static_cast<int>(known - queries.begin());
    queries.push_back(query);
    return static_cast<int>(queries.size()) - 1;
}

int JoinPlanner::measure(int place, int column) {
    auto& measured = table(place).measured;
    const auto known = std::find(measured.begin(), measured.end(), column);
    if (known != measured.end()) return static_cast<int>(known - measured.begin());
    measured.push_back(column);
    return static_cast<int>(measured.size()) - 1;
}

void JoinPlanner::add_bound(Oid type, const List* terms) {
    MeasuredSum sum{type, {}};
    for (const Term* const term : items<const Term>(terms)) {
        auto& product = sum.products.emplace_back();
        for (const Factor* const factor : items<const Factor>(term->factors)) {
            const int place = place_of(*factor);
            product.emplace_back(place, measure(place, add_factor_column(place, *factor, true)));
        }
    }
    planned_.plan.sums.push_back(sum);
}

// Asks for the sum of a term, in rows where the others have values, too.
Question JoinPlanner::sum_of(const AggregateShape& aggregate, const Term& term, const Question& count) {
    Question sum = count;
    sum.kind = aggregate.cell;
    for (const Factor* const factor : items<const Factor>(term.factors)) {
        const int place = place_of(*factor);
        sum.factors[place].push_back(add_value_column(place, *factor, aggregate.cell));
    }
    return sum;
}

// Extrema add up along a row of the join (min-plus and max-plus).
Question JoinPlanner::extremum_of(const AggregateShape& aggregate, const Question& count) {
    Question extremum = count;
    extremum.kind = aggregate.cell;
    for (const Term* const term : items<const Term>(aggregate.terms)) {
        const Factor& factor = *items<const Factor>(term->factors)[0];
        const int place = place_of(factor), column = add_value_column(place, factor, aggregate.cell);
        const Oid type = planned_.plan.readings[place][column].type;
        const Oid widest = table(place).columns[column] == StreamedType::integer ? INT8OID : type;
        extremum.factors[place].push_back(
            term->negative ? add_column(place, {Reading::derived, -1, -1, widest, {Operation::negate, column, -1}})
                           : column);
    }
    return extremum;
}

// What must hold in a row, and be there, for it to count.
Question JoinPlanner::count_of(const AggregateShape& aggregate) {
    Question count(planned_.tables.size());
    for (const Factor* const factor : items<const Factor>(aggregate.conditions)) {
        const int place = place_of(*factor);
        count.conditions[place].push_back(add_factor_column(place, *factor, true));
    }
    const bool only_counts = aggregate.function == AggregateFunction::count;
    for (const Term* const term : items<const Term>(aggregate.terms))
        for (const Factor* const factor : items<const Factor>(term->factors)) {
            if (factor->table < 0) continue;
            const int place = place_of(*factor), column = add_factor_column(place, *factor, !only_counts);
            auto& present = count.present[place];
            if (std::find(present.begin(), present.end(), column) == present.end()) present.push_back(column);
        }
    return count;
}

void JoinPlanner::add_aggregate(const AggregateShape& aggregate) {
    const Question count = count_of(aggregate);
    for (const Bound* const bound : items<const Bound>(aggregate.bounds)) add_bound(bound->type, bound->terms);
    // Floats are measured whether they are multiplied or not.
    if (aggregate.cell == CellKind::number_sum) add_bound(FLOAT8OID, aggregate.terms);
    AggregateOutput output{aggregate.function, aggregate.cell, aggregate.argument_type, {}, -1, -1};
    if (is_extremum(aggregate.function))
        output.terms.push_back({ask(extremum_of(aggregate, count), root()), false});
    else {
        output.count = ask(count, root());
        for (const Term* const term : items<const Term>(aggregate.terms))
            if (aggregate.function != AggregateFunction::count)
                output.terms.push_back({ask(sum_of(aggregate, *term, count), root()), term->negative});
    }
    if (is_variance(aggregate.function)) {
        Question squares = sum_of(aggregate, *items<const Term>(aggregate.terms)[0], count);
        for (auto& factors : squares.factors) {
            const std::vector<int> once = factors;
            factors.insert(factors.end(), once.begin(), once.end());
        }
        output.squares = ask(squares, root());
    }
    planned_.plan.aggregates.push_back(output);
}

double JoinPlanner::estimate_keys(int place) const {
    if (is_bag(place)) return estimate_bag(place);
    const double rows = join_.tables[planned_.tables[place]].relation->rows;
    const int t = planned_.tables[place];
    const auto& separator = nodes_[node_at_[place]].separator;
    std::vector<Expr*> expressions;
    for (int number : separator) expressions.push_back(join_.key(t, number)->expression);
    for (int number : carried_[place])
        expressions.push_back(items<const GroupShape>(query_.groups)[number]->expression);
    if (expressions.empty()) return 1;
    const double most = carried_[place].empty() ? rows : rows * std::max(1.0, groups_);
    return pg_call([&] {
        List* all = NIL;
        for (Expr* const expression : expressions) all = lappend(all, expression);
        return btml_compat_estimate_groups(join_.root, all, most);
    });
}

// Costs as of PostgreSQL's own nodes: a row that is read, hashed for each child and its own key, and added up.
void JoinPlanner::estimate() {
    for (size_t i = 0; i < planned_.tables.size(); i++) {
        const int place = static_cast<int>(i);
        const size_t operations = 1 + table(place).children.size() + table(place).queries.size();
        const double rows = is_bag(place) ? estimate_keys(place) : join_.tables[planned_.tables[place]].relation->rows;
        planned_.cost += rows * (cpu_tuple_cost + cpu_operator_cost * static_cast<double>(operations));
        if (is_bag(place)) planned_.cost += rows * 0.5 * cpu_operator_cost;
        const double keys = place == root() ? groups_ : estimate_keys(place);
        const size_t words = table(place).key.size() + carried_[place].size() + 1 + 2 * table(place).queries.size();
        planned_.memory += keys * static_cast<double>(words * sizeof(int64_t));
        if (table(place).held)
            planned_.memory += rows * static_cast<double>(table(place).columns.size() * (sizeof(int64_t) + 1));
    }
    planned_.cost += groups_ * cpu_tuple_cost;
}

// The column's name, with its table's where another attribute is called the same.
std::string JoinPlanner::attribute_name(int number) const {
    const Attribute* const named = attribute(number);
    int same = 0;
    for (const Attribute* const other : items<const Attribute>(join_.attributes))
        same += strcmp(other->name, named->name) == 0;
    return same > 1 ? named->qualified : named->name;
}

std::string JoinPlanner::attribute_names(const std::vector<int>& attributes) const {
    std::string names;
    for (int number : attributes) names += (names.empty() ? "" : ", ") + attribute_name(number);
    return names;
}

std::string JoinPlanner::describe(int place) const {
    std::string text =
        is_bag(place) ? "bag of " + attribute_names(bag(place)) : join_.tables[planned_.tables[place]].name;
    std::string below;
    for (const StreamedChild& child : table(place).children) {
        const auto& separator = nodes_[node_at_[child.table]].separator;
        below += (below.empty() ? "" : "; ") + describe(child.table) +
                 (separator.empty() ? " with every row" : " by " + attribute_names(separator));
    }
    return below.empty() ? text : text + " <- (" + below + ")";
}

PlannedJoin JoinPlanner::plan() {
    find_tree();
    add_tables();
    add_groups();
    for (const AggregateShape* const aggregate : items<const AggregateShape>(query_.aggregates))
        add_aggregate(*aggregate);
    estimate();
    planned_.description = describe(root());
    return std::move(planned_);
}

} // namespace

PlannedJoin plan_join(const QueryShape& query, double groups, RunContext& context) {
    return JoinPlanner(query, groups, context).plan();
}

} // namespace btml::pg::planner
