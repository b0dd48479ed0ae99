#include "pg/planner/join_planner.hpp"

#include "core/relational/streamed/bag_rows.hpp"
#include "core/relational/streamed/message.hpp"
#include "pg/source/dictionaries.hpp"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/tlist.h"
}

namespace btml::pg::planner {

using relational::BagOrder;
using relational::BagRows;
using relational::Message;
using relational::MessageLayout;
using relational::RowBatch;

// Expects as many rows as PostgreSQL does of the join of the bag's tables, and no more than the AGM bound.
double JoinPlanner::estimate_bag(int place) const {
    Relids relids = nullptr;
    for (int t : tables_of(bag(place)))
        relids = pg_call([=, this] { return bms_union(relids, join_.tables[t].relids); });
    const RelOptInfo* const relation = pg_call([=, this] { return relation_of(join_.root, relids); });
    const double bound = bag_bounds_[node_at_[place] - join_.table_count];
    return relation ? std::min(bound, relation->rows) : bound;
}

// The entries of a bag's message: no more than the rows of the table that they are for. Of a nested bag's those of one
// part, the largest of which may be a hub's.
double JoinPlanner::estimate_bag_message(int place) const {
    constexpr double part = 1.0 / 16;
    const double rows = estimate_bag(place);
    if (BagOrder(planned_.join.streamed).is_nested(place)) return rows * part;
    const int parent = nodes_[node_at_[place]].parent;
    const bool of_table = parent >= 0 && parent < join_.table_count && carried_[place].empty();
    return of_table ? std::min(rows, rows_of(parent)) : rows;
}

double JoinPlanner::estimate_keys(int place) const {
    if (is_bag(place)) return estimate_bag_message(place);
    const double rows = join_.tables[planned_.tables[place]].relation->rows;
    const int t = planned_.tables[place];
    const auto& separator = nodes_[node_at_[place]].separator;
    std::vector<Expr*> expressions;
    for (int number : separator) expressions.push_back(join_.key(t, number)->expression);
    for (int number : carried_[place])
        expressions.push_back(items<const GroupShape>(query_.groups)[number]->expression);
    if (expressions.empty()) return 1;
    // PostgreSQL expects a tenth of the rows at most for keys of several columns; those with an order tell more apart.
    if (std::any_of(separator.begin(), separator.end(),
                    [&](int n) { return attribute(n)->order != KeyOrder::equal; })) {
        double combinations = 1;
        for (Expr* const expression : expressions) combinations *= estimate_distinct({expression}, rows);
        return std::min(rows, combinations);
    }
    return estimate_distinct(expressions, carried_[place].empty() ? rows : rows * std::max(1.0, groups_));
}

double JoinPlanner::estimate_distinct(const std::vector<Expr*>& expressions, double rows) const {
    return pg_call([&] {
        List* all = NIL;
        for (Expr* const expression : expressions) all = lappend(all, expression);
        return estimate_num_groups(join_.root, all, rows, nullptr, nullptr);
    });
}

double JoinPlanner::rows_of(int node) const {
    return node < join_.table_count ? join_.tables[node].relation->rows : bag_bounds_[node - join_.table_count];
}

// Whether a node has fewer rows than its child, and few of the keys that the child has.
bool JoinPlanner::narrows(int parent, int node) const {
    constexpr double min_ratio = 4;
    if (std::max(parent, node) >= join_.table_count || rows_of(parent) >= rows_of(node)) return false;
    const auto keys = [&](int t) {
        std::vector<Expr*> expressions;
        for (int number : nodes_[node].separator) expressions.push_back(join_.key(t, number)->expression);
        return estimate_distinct(expressions, rows_of(t));
    };
    return keys(parent) * min_ratio < keys(node);
}

static double width_of(PlannerInfo* root, Expr* expression) {
    return pg_call([=] {
        PathTarget* const target = create_empty_pathtarget();
        add_column_to_pathtarget(target, expression, 0);
        return set_pathtarget_cost_width(root, target)->width;
    });
}

// Returns what evaluating the expressions costs for a row.
static double cost_of(List* expressions) {
    if (!expressions) return 0;
    return pg_call([=] {
        QualCost cost;
        cost_qual_eval(&cost, expressions, nullptr);
        return cost.per_tuple;
    });
}

// Expects the values of the column that has the most bytes of them to be those of the others, too.
double JoinPlanner::estimate_dictionary(int number) const {
    double bytes = 0;
    for (size_t place = 0; place < planned_.tables.size(); place++)
        for (const ColumnReading& column : planned_.join.readings[place]) {
            if (column.dictionary != number) continue;
            Expr* const expression = expression_at(static_cast<int>(place), column.position);
            const double values = estimate_distinct({expression}, join_.tables[planned_.tables[place]].relation->rows);
            bytes = std::max(bytes, values * (width_of(join_.root, expression) + KeyDictionary::entry_bytes));
        }
    return bytes;
}

// The keys that bags are joined from: by attribute the distinct ones, and those of every row of a table.
double JoinPlanner::estimate_bag_keys() const {
    double bytes = 0;
    std::vector<double> distinct(list_length(join_.attributes), 0.0);
    for (size_t place = 0; place < planned_.join.streamed.attributes.size(); place++) {
        const auto& read = planned_.join.streamed.attributes[place];
        if (read.empty()) continue;
        const int t = planned_.tables[place];
        const double rows = join_.tables[t].relation->rows;
        bytes += rows * static_cast<double>(read.size() * BagRows::key_bytes);
        for (const auto& [column, attribute] : read)
            distinct[attribute] =
                std::max(distinct[attribute], estimate_distinct({join_.key(t, attribute)->expression}, rows));
    }
    for (const double values : distinct) bytes += values * BagRows::value_bytes;
    return bytes;
}

// Returns how many combinations of entries of its children a row meets on average: groups make several of a key.
double JoinPlanner::matches_of_row(int place) const {
    double matches = 1;
    for (const StreamedChild& child : table(place).children) {
        if (carried_[child.table].empty() || is_bag(child.table)) continue;
        const int t = planned_.tables[child.table];
        std::vector<Expr*> keys;
        for (int number : nodes_[node_at_[child.table]].separator) keys.push_back(join_.key(t, number)->expression);
        const double distinct = keys.empty() ? 1 : estimate_distinct(keys, join_.tables[t].relation->rows);
        matches *= std::max(1.0, estimate_keys(child.table) / std::max(1.0, distinct));
    }
    return matches;
}

// Returns which part of a table's rows finds partners in the messages of its children, as the numbers of distinct keys
// on both sides have it.
double JoinPlanner::kept_share(int place) const {
    double share = 1;
    for (const StreamedChild& child : table(place).children) {
        const bool lets_pass = child.join == StreamedJoin::inner || child.join == StreamedJoin::semi;
        if (is_bag(place) || is_bag(child.table) || !lets_pass || child.order != KeyOrder::equal) continue;
        const int own = planned_.tables[place], other = planned_.tables[child.table];
        std::vector<Expr*> of_own, of_other;
        for (int number : nodes_[node_at_[child.table]].separator) {
            of_own.push_back(join_.key(own, number)->expression);
            of_other.push_back(join_.key(other, number)->expression);
        }
        if (of_own.empty()) continue;
        const double sent = estimate_distinct(of_other, join_.tables[other].relation->rows * kept_share(child.table));
        share *= std::min(1.0, sent / std::max(1.0, estimate_distinct(of_own, join_.tables[own].relation->rows)));
    }
    return share;
}

// Returns the bytes in which the entries of a message are put in order: two lists of words with numbers, a list of
// runs, and the entries once more.
double JoinPlanner::ordering_bytes(int place, double entries) const {
    const int parent = nodes_[node_at_[place]].parent;
    if (parent < 0) return 0;
    for (const StreamedChild& child : table(places_[parent]).children)
        if (child.table == place && child.order == KeyOrder::equal) return 0;
    const auto words = static_cast<double>(MessageLayout(planned_.join.streamed, place).words);
    return entries * (4 * sizeof(uint64_t) + sizeof(uint32_t) + words * sizeof(uint64_t));
}

// Costs as of PostgreSQL's own nodes: a row that is read and hashed for each child, and what it meets there that is
// hashed for the table's own key and added up. A bag's row passes through no node, and costs half an operator to find.
void JoinPlanner::estimate() {
    for (size_t i = 0; i < planned_.tables.size(); i++) {
        const int place = static_cast<int>(i);
        const auto children = static_cast<double>(table(place).children.size());
        const auto sums = static_cast<double>(table(place).queries.size());
        const double rows = is_bag(place) ? estimate_bag(place) : join_.tables[planned_.tables[place]].relation->rows;
        planned_.cost +=
            rows * ((is_bag(place) ? 0.5 * cpu_operator_cost : cpu_tuple_cost) + cpu_operator_cost * children);
        const double matches = rows * kept_share(place) * matches_of_row(place);
        const double keys = place == root() ? groups_ : estimate_keys(place);
        planned_.cost += matches * cpu_operator_cost * (1 + sums) + std::min(keys, matches) * cpu_tuple_cost;
        planned_.cost += rows * cost_of(planned_.computed[place]);
        planned_.result_memory = Message::max_bytes(MessageLayout(planned_.join.streamed, place).words, keys, rows);
        planned_.memory += planned_.result_memory + ordering_bytes(place, keys);
        if (table(place).held) planned_.memory += rows * static_cast<double>(RowBatch::row_bytes(table(place).columns));
    }
    for (size_t i = 0; i < dictionaries_.types().size(); i++)
        planned_.memory += estimate_dictionary(static_cast<int>(i));
    planned_.memory += estimate_bag_keys();
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
        const std::string keys = attribute_names(nodes_[node_at_[child.table]].separator);
        below +=
            (below.empty() ? "" : "; ") + describe(child.table) + (keys.empty() ? " with every row" : " by " + keys);
    }
    return below.empty() ? text : text + " <- (" + below + ")";
}

} // namespace btml::pg::planner
