#include "pg/planner/join_planner.hpp"

#include "core/relational/streamed/join_decomposition.hpp"
#include "pg/planner/conditions.hpp"

#include <bit>
#include <optional>

namespace btml::pg::planner {

// The table from which the group's value can be read when `root` is the root: the root itself where it has the column
// or an attribute that must equal it, and so looks the same.
int JoinPlanner::group_table(int group, int root) const {
    const int attribute = dictionaries_.attribute_of(group), own = items<const GroupShape>(query_.groups)[group]->table;
    return attribute >= 0 && join_.key(own, attribute) && join_.key(root, attribute) ? root : own;
}

bool JoinPlanner::covers(int table) const {
    for (int group = 0; group < list_length(query_.groups); group++)
        if (group_table(group, table) != table) return false;
    return true;
}

// The root sends no message, so that its rows cost least: the largest table that has all group columns, if there is
// one.
int JoinPlanner::find_root() const {
    int best = -1;
    bool best_covers = false;
    for (int t = 0; t < join_.table_count; t++) {
        if (!join_.is_inner(t) || join_.tables[t].has_rows_once) continue;
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

// A root that has all group columns may be far smaller than another table, whose rows would then be in a message.
std::vector<int> JoinPlanner::roots() const {
    constexpr double min_ratio = 4;
    const int best = find_root();
    std::vector<int> roots = {best};
    for (int t = 0; t < join_.table_count; t++)
        if (join_.is_inner(t) && !join_.tables[t].has_rows_once &&
            join_.tables[t].relation->rows >= min_ratio * join_.tables[best].relation->rows &&
            (roots.size() == 1 || join_.tables[t].relation->rows > join_.tables[roots[1]].relation->rows))
            roots = {best, t};
    return roots;
}

// The tables that are joined by inner joins, and bags where these make a cycle, stand in the tree of their attributes.
void JoinPlanner::find_inner_tree(int root) {
    std::vector<int> inner;
    std::vector<std::vector<int>> attributes;
    std::vector<double> rows;
    for (int t = 0; t < join_.table_count; t++) {
        if (!join_.is_inner(t)) continue;
        inner.push_back(t);
        attributes.emplace_back();
        for (const TableKey* const key : items<const TableKey>(join_.tables[t].keys))
            if (!attribute(key->attribute)->is_private) attributes.back().push_back(key->attribute);
        rows.push_back(std::max(1.0, join_.tables[t].relation->rows));
    }
    const auto at = static_cast<int>(std::find(inner.begin(), inner.end(), root) - inner.begin());
    const relational::JoinDecomposition found = relational::decompose_join(attributes, rows, at, context_);
    planned_.width = found.width;
    bags_ = found.bags;
    bag_bounds_ = found.bag_bounds;
    nodes_.resize(join_.table_count + bags_.size());
    const auto node = [&](int n) {
        const int tables = static_cast<int>(inner.size());
        return n < 0 ? -1 : n < tables ? inner[n] : join_.table_count + n - tables;
    };
    for (size_t n = 0; n < found.nodes.size(); n++) {
        relational::JoinTree::Node& to = nodes_[node(static_cast<int>(n))];
        to.parent = node(found.nodes[n].parent);
        to.separator = found.nodes[n].separator;
    }
    for (size_t i = found.order.size(); i-- > 0;) hang_higher(node(found.order[i]));
    for (int n : found.order)
        if (nodes_[node(n)].parent >= 0) nodes_[nodes_[node(n)].parent].children.push_back(node(n));
    for (relational::JoinTree::Node& each : nodes_)
        std::stable_sort(each.children.begin(), each.children.end(),
                         [&](int a, int b) { return rows_of(a) < rows_of(b); });
}

// A table that is read before its small parent knows nothing of that one's keys; as its sibling it is read after it,
// and leaves out the rows that have none of them.
void JoinPlanner::hang_higher(int node) {
    relational::JoinTree::Node& below = nodes_[node];
    while (below.parent >= 0 && !below.separator.empty()) {
        const relational::JoinTree::Node& above = nodes_[below.parent];
        const auto is_above = [&](int attribute) {
            return std::find(above.separator.begin(), above.separator.end(), attribute) != above.separator.end();
        };
        if (above.parent < 0 || !std::all_of(below.separator.begin(), below.separator.end(), is_above) ||
            !narrows(below.parent, node))
            return;
        below.parent = above.parent;
    }
}

void JoinPlanner::add_inner_sides() {
    for (int t = 0; t < join_.table_count; t++) {
        const TableShape& table = join_.tables[t];
        if (join_.is_inner(t) || !join_.has(t, set_)) continue;
        relational::JoinTree::Node& node = nodes_[t];
        node.parent = table.partner;
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

void JoinPlanner::find_tree(int root) {
    find_inner_tree(root);
    add_inner_sides();
    places_.assign(nodes_.size(), 0);
    place(root);
    const size_t nodes = node_at_.size();
    for (int t : planned_.tables) planned_.has_rows_once.push_back(t >= 0 && join_.tables[t].has_rows_once);
    planned_.columns.assign(nodes, NIL);
    planned_.computed.assign(nodes, NIL);
    planned_.join.readings.resize(nodes);
    planned_.join.streamed.tables.resize(nodes);
    carried_.resize(nodes);
    own_groups_.resize(nodes);
}

void JoinPlanner::add_bag(int place) {
    const auto& attributes = bag(place);
    table(place).columns.assign(attributes.size(), StreamedType::integer);
    planned_.join.streamed.bags.push_back({place, attributes});
}

// A distinct table that has nothing below it, and all of whose keys are its parent's, only lets rows of that one pass.
StreamedJoin JoinPlanner::join_of(int place) {
    if (is_bag(place)) return StreamedJoin::inner;
    const TableShape& table = join_.tables[planned_.tables[place]];
    const relational::JoinTree::Node& node = nodes_[node_at_[place]];
    const auto keys = static_cast<size_t>(list_length(table.keys));
    if (!table.has_rows_once || !node.children.empty() || node.separator.size() < keys) return table.join;
    planned_.has_rows_once[place] = false;
    return StreamedJoin::semi;
}

void JoinPlanner::add_table(int place) {
    const relational::JoinTree::Node& node = nodes_[node_at_[place]];
    table(place).queries.emplace_back();
    if (node.parent < 0) return;
    const int parent = places_[node.parent];
    StreamedChild child{place, join_of(place), {}};
    const auto add = [&](int number) {
        table(place).key.push_back(key_column(place, number));
        child.key.push_back(key_column(parent, number));
    };
    int last = -1; // an attribute with an order
    for (int number : node.separator) {
        if (attribute(number)->order == KeyOrder::equal)
            add(number);
        else if (last < 0 && !is_bag(place) && !is_bag(parent))
            last = number;
        else
            throw NotPlanned{"two tables are compared in two ways, or within a cycle"};
    }
    if (last >= 0) {
        const bool is_ordered = planned_.tables[place] == attribute(last)->ordered;
        child.order = is_ordered ? attribute(last)->order : reversed(attribute(last)->order);
        add(last);
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
    auto& attributes = planned_.join.streamed.attributes;
    attributes.resize(planned_.tables.size());
    std::vector<int> readers;
    for (const auto& bag : bags_)
        for (int t : tables_of(bag)) readers.push_back(t);
    for (int t : readers)
        for (const auto& bag : bags_)
            for (int number : bag) {
                if (!join_.key(t, number)) continue;
                const std::pair<int, int> pair(key_column(places_[t], number), number);
                place_in(attributes[places_[t]], pair);
                table(places_[t]).held = true;
            }
}

void JoinPlanner::add_tables() {
    for (size_t place = 0; place < planned_.tables.size(); place++)
        if (is_bag(static_cast<int>(place))) add_bag(static_cast<int>(place));
    for (size_t place = 0; place < planned_.tables.size(); place++) add_table(static_cast<int>(place));
    for (StreamedTable& each : planned_.join.streamed.tables) each.queries[0].children.assign(each.children.size(), 0);
    if (!bags_.empty()) read_by_bags();
}

void JoinPlanner::add_group(int number) {
    const GroupShape& group = *items<const GroupShape>(query_.groups)[number];
    const int from = group_table(number, planned_.tables[root()]), place = places_[from];
    const int dictionary = dictionaries_.of_group(number);
    const Reading reading = !group.is_for_aggregate && may_look_different(group.type) ? Reading::form
                            : dictionary < 0                                          ? Reading::integer
                                                                                      : Reading::dictionary;
    table(place).groups.push_back(from == group.table ? add_column(place, group.expression, reading, dictionary)
                                                      : key_column(place, dictionaries_.attribute_of(number)));
    own_groups_[place].push_back(number);
}

void JoinPlanner::add_groups() {
    for (int group = 0; group < list_length(query_.groups); group++) add_group(group);
    for (size_t place = 0; place < planned_.tables.size(); place++) {
        carried_[place] = own_groups_[place];
        for (const StreamedChild& child : table(static_cast<int>(place)).children)
            carried_[place].insert(carried_[place].end(), carried_[child.table].begin(), carried_[child.table].end());
    }
    for (size_t place = 0; place < planned_.tables.size(); place++)
        for (const StreamedChild& child : table(static_cast<int>(place)).children)
            if (child.order != KeyOrder::equal && !carried_[child.table].empty())
                throw NotPlanned{"a table that another one is compared with has groups"};
    planned_.join.groups.resize(list_length(query_.groups));
    for (size_t i = 0; i < carried_[root()].size(); i++)
        planned_.join.groups[carried_[root()][i]] = static_cast<int>(i);
}

PlannedJoin JoinPlanner::plan(int root_table) {
    find_tree(root_table);
    add_tables();
    add_groups();
    for (const AggregateShape* const aggregate : items<const AggregateShape>(query_.aggregates))
        add_aggregate(*aggregate);
    planned_.join.rows = ask(rows_that_stay(), CellKind::count, root());
    planned_.join.is_subtracted = std::popcount(set_) % 2 == 1;
    estimate();
    planned_.description = describe(root());
    return std::move(planned_);
}

static std::vector<int> numbers_of(const List* list) {
    std::vector<int> numbers;
    for (int i = 0; i < list_length(list); i++) numbers.push_back(list_nth_int(list, i));
    return numbers;
}

// The rows of the result, beside the joins that they are made from.
static void add_outputs(const QueryShape& query, PlannedDictionaries& dictionaries, FactorizedPlan& plan) {
    for (const GroupShape* const group : items<const GroupShape>(query.groups))
        plan.groups.push_back(
            {dictionaries.of_group(static_cast<int>(plan.groups.size())), base_type(group->expression)});
    for (const AggregateShape* const aggregate : items<const AggregateShape>(query.aggregates))
        plan.aggregates.push_back(
            {aggregate->function, aggregate->cell, aggregate->argument_type, aggregate->distinct});
    for (const List* const set : items<const List>(query.grouping_sets)) plan.grouping_sets.push_back(numbers_of(set));
    for (const GroupingFunc* const grouping : items<const GroupingFunc>(query.groupings))
        plan.groupings.push_back(numbers_of(pg_call([=, &query] { return query.groups_of(grouping->refs); })));
    plan.dictionaries = dictionaries.types();
}

// One that fits into memory is better than one that does not.
static bool is_better(const PlannedJoin& a, const PlannedJoin& b) {
    const bool a_fits = a.memory <= message_memory(), b_fits = b.memory <= message_memory();
    return a_fits != b_fits ? a_fits : a.cost < b.cost;
}

// Plans the join with the root that is best for it.
static PlannedJoin plan_join(const QueryShape& query, unsigned set, double groups, PlannedDictionaries& dictionaries,
                             RunContext& context) {
    const JoinShape join = pg_call([&] { return query.join.excluded_by(set); });
    const auto planner = [&] { return JoinPlanner(query, join, set, groups, dictionaries, context); };
    std::optional<PlannedJoin> best;
    NotPlanned why = {nullptr};
    for (int root : planner().roots()) try {
            PlannedJoin planned = planner().plan(root);
            if (!best || is_better(planned, *best)) best = std::move(planned);
        } catch (const NotPlanned& other) {
            why = other;
        }
    if (!best) throw why;
    return std::move(*best);
}

PlannedQuery plan_query(const QueryShape& query, double groups, RunContext& context) {
    PlannedQuery planned;
    PlannedDictionaries dictionaries(query);
    for (unsigned set = 0; set < 1u << list_length(query.join.exclusions); set++)
        planned.joins.push_back(plan_join(query, set, groups, dictionaries, context));
    share_scans(query.join, planned.joins);
    add_outputs(query, dictionaries, planned.plan);
    return planned;
}

} // namespace btml::pg::planner
