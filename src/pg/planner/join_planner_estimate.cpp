#include "pg/planner/join_planner.hpp"

#include "core/relational/streamed/held_rows.hpp"
#include "core/relational/streamed/message.hpp"

extern "C" {
#include "optimizer/cost.h"
}

namespace btml::pg::planner {

using relational::HeldRows;
using relational::MessageLayout;

// Expects as many rows as PostgreSQL does of the join of the bag's tables, and no more than the AGM bound.
double JoinPlanner::estimate_bag(int place) const {
    Relids relids = nullptr;
    for (int t : tables_of(bag(place)))
        relids = pg_call([=, this] { return bms_union(relids, join_.tables[t].relids); });
    const RelOptInfo* const relation = pg_call([=, this] { return relation_of(join_.root, relids); });
    const double bound = bag_bounds_[node_at_[place] - join_.table_count];
    return relation ? std::min(bound, relation->rows) : bound;
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
        // An entry and the slot that it is found by.
        const size_t words = MessageLayout(planned_.plan.streamed, place).words + 1;
        planned_.memory += keys * static_cast<double>(words * sizeof(int64_t));
        if (table(place).held) planned_.memory += rows * static_cast<double>(HeldRows::row_bytes(table(place).columns));
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

} // namespace btml::pg::planner
