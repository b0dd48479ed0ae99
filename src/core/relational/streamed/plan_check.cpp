#include "core/relational/streamed/cells.hpp"

#include <algorithm>
#include <set>

namespace btml::relational {

namespace {

constexpr size_t max_tables = 1000; // trees are walked by recursion

// Columns of a table that are there and of this type.
bool are_columns(const StreamedTable& table, const std::vector<int>& columns, StreamedType type) {
    return std::all_of(columns.begin(), columns.end(), [&](int column) {
        return column >= 0 && column < static_cast<int>(table.columns.size()) && table.columns[column] == type;
    });
}

bool are_columns(const StreamedTable& table, const std::vector<int>& columns) {
    return std::all_of(columns.begin(), columns.end(),
                       [&](int column) { return column >= 0 && column < static_cast<int>(table.columns.size()); });
}

StreamedType factor_type(CellKind kind) {
    return is_integer(kind) ? StreamedType::integer : is_number(kind) ? StreamedType::number : StreamedType::decimal;
}

// Can a query of this kind be made of a child's query of that kind? An extremum takes counts beside its own kind.
bool goes_into(CellKind child, CellKind kind) {
    if (child == CellKind::count || child == kind) return true;
    return child == CellKind::integer_sum && (kind == CellKind::number_sum || kind == CellKind::decimal_sum);
}

const char* flaw_of_children(const StreamedPlan& plan, const StreamedTable& table, const StreamedQuery& query) {
    if (query.children.size() != table.children.size()) return "a query lacks the query of a child";
    size_t same_kind = query.kind == CellKind::count ? 0 : query.factors.size();
    for (size_t c = 0; c < query.children.size(); c++) {
        const auto& queries = plan.tables[table.children[c].table].queries;
        const int number = query.children[c];
        if (number < 0 || number >= static_cast<int>(queries.size())) return "a child lacks a query";
        if (!multiplies(table.children[c].join) && number != 0) return "a child that multiplies nothing has a query";
        if (!goes_into(queries[number].kind, query.kind)) return "a child's query is of a kind that does not fit";
        same_kind += multiplies(table.children[c].join) && queries[number].kind == query.kind;
    }
    // Floats are added in an order that is not ours to choose.
    if (is_extremum(query.kind) && (same_kind == 0 || (is_number(query.kind) && same_kind > 1)))
        return "an extremum is not of one column";
    return nullptr;
}

const char* flaw_of_query(const StreamedPlan& plan, const StreamedTable& table, const StreamedQuery& query) {
    if (query.kind == CellKind::count && !query.factors.empty()) return "a count has a factor";
    if (!are_columns(table, query.factors, factor_type(query.kind))) return "a factor is no column of its type";
    if (!are_columns(table, query.present)) return "a column that must not be null is none";
    if (!are_columns(table, query.conditions, StreamedType::integer)) return "a condition is no column of integers";
    return flaw_of_children(plan, table, query);
}

bool counts_rows(const StreamedQuery& query) {
    return query.kind == CellKind::count && query.present.empty() && query.conditions.empty() &&
           std::all_of(query.children.begin(), query.children.end(), [](int child) { return child == 0; });
}

const char* flaw_of_order(const StreamedPlan& plan, int parent, const StreamedChild& child) {
    if (child.order == KeyOrder::equal) return nullptr;
    if (child.key.empty()) return "nothing is compared with a child that is in order";
    if (plan.is_bag(parent) || plan.is_bag(child.table)) return "the rows of a bag are in order";
    if (plan.message_groups(child.table) > 0) return "a child that is in order has groups";
    for (const StreamedQuery& query : plan.tables[child.table].queries)
        if (query.kind == CellKind::number_sum) return "a child that is in order has a sum of numbers";
    return nullptr;
}

const char* flaw_of_table(const StreamedPlan& plan, int number) {
    const StreamedTable& table = plan.tables[number];
    if (!are_columns(table, table.key, StreamedType::integer)) return "a key is no column of integers";
    if (!are_columns(table, table.groups, StreamedType::integer)) return "a group is no column of integers";
    if (!are_columns(table, table.measured)) return "a measured column is none";
    for (const StreamedChild& child : table.children) {
        if (child.table < 0 || child.table >= number) return "a child comes after its parent";
        if (!are_columns(table, child.key, StreamedType::integer)) return "a child's key is no column of integers";
        if (child.key.size() != plan.tables[child.table].key.size()) return "a key has columns without partners";
    }
    if (table.queries.empty() || !counts_rows(table.queries.front()))
        return "the first query of a table counts no rows";
    for (const StreamedQuery& query : table.queries)
        if (const char* flaw = flaw_of_query(plan, table, query)) return flaw;
    return nullptr;
}

const char* flaw_of_tree(const StreamedPlan& plan) {
    std::vector<int> parents(plan.tables.size(), 0);
    for (const StreamedTable& table : plan.tables)
        for (const StreamedChild& child : table.children) parents[child.table]++;
    const bool one_parent_each = std::all_of(parents.begin(), parents.end() - 1, [](int count) { return count == 1; });
    if (!one_parent_each) return "a table but the last has not one parent";
    if (!plan.tables.back().key.empty()) return "the root has a key";
    for (size_t t = 0; t < plan.tables.size(); t++)
        for (const StreamedChild& child : plan.tables[t].children)
            if (const char* flaw = flaw_of_order(plan, static_cast<int>(t), child)) return flaw;
    return nullptr;
}

template <class T>
bool are_distinct(std::vector<T> values) {
    std::sort(values.begin(), values.end());
    return std::adjacent_find(values.begin(), values.end()) == values.end();
}

const char* flaw_of_bags(const StreamedPlan& plan) {
    if (plan.bags.empty()) return plan.attributes.empty() ? nullptr : "attributes are told of, but no bags";
    if (plan.attributes.size() != plan.tables.size()) return "the attributes of a table are missing";
    std::set<int> covered, bag_tables;
    for (const StreamedBag& bag : plan.bags) {
        if (bag.table < 0 || bag.table >= static_cast<int>(plan.tables.size())) return "a bag is no table";
        if (!bag_tables.insert(bag.table).second) return "two bags are one table";
        const StreamedTable& table = plan.tables[bag.table];
        if (table.held || !plan.attributes[bag.table].empty()) return "a bag is read by a bag";
        const std::vector<StreamedType> integers(bag.attributes.size(), StreamedType::integer);
        if (table.columns != integers) return "a bag's columns are not its attributes";
        if (bag.attributes.empty() || !are_distinct(bag.attributes)) return "a bag's attributes are not distinct";
    }
    for (size_t t = 0; t < plan.tables.size(); t++) {
        std::vector<int> columns, attributes;
        for (const auto& [column, attribute] : plan.attributes[t]) {
            columns.push_back(column);
            attributes.push_back(attribute);
        }
        if (!are_columns(plan.tables[t], columns, StreamedType::integer))
            return "an attribute is no column of integers";
        if (!are_distinct(attributes)) return "a table has an attribute twice";
        if (!attributes.empty() && !plan.tables[t].held) return "a table that a bag reads is not held";
        covered.insert(attributes.begin(), attributes.end());
    }
    for (const StreamedBag& bag : plan.bags)
        for (int attribute : bag.attributes)
            if (!covered.count(attribute)) return "a bag's attribute is in no table";
    return nullptr;
}

} // namespace

const char* flaw_of(const StreamedPlan& plan) {
    if (plan.tables.empty()) return "it has no tables";
    if (plan.tables.size() > max_tables) return "it has too many tables";
    for (size_t t = 0; t < plan.tables.size(); t++)
        if (const char* flaw = flaw_of_table(plan, static_cast<int>(t))) return flaw;
    if (const char* flaw = flaw_of_tree(plan)) return flaw;
    return flaw_of_bags(plan);
}

} // namespace btml::relational
