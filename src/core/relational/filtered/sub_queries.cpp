#include "core/relational/filtered/sub_queries.hpp"

namespace btml::relational {

SubQueries::SubQueries(const GroupedJoin& join, size_t value_table)
    : join_(join),
      value_table_(value_table),
      tables_(join.tables().size()),
      conditions_(tables_.size()),
      prefixes_(tables_.size()),
      own_(tables_.size()),
      sub_queries_(tables_.size()) {
    for (size_t t = 0; t < tables_.size(); t++) {
        const size_t children = join.children(t).size();
        tables_[t].children.resize(children);
        prefixes_[t].resize(children);
    }
}

uint32_t SubQueries::find_condition(size_t t, Condition condition, bool apart) {
    std::vector<Condition>& conditions = tables_[t].conditions;
    const auto next = static_cast<uint32_t>(conditions.size());
    const auto key = static_cast<uint64_t>(condition.filter + 1) << 2 | static_cast<uint64_t>(condition.power);
    const uint32_t number = apart ? next : conditions_[t].emplace(key, next).first->second;
    if (number == next) conditions.push_back(condition);
    return number;
}

uint32_t SubQueries::find_sub_query(size_t t, bool apart) {
    OfTable& table = tables_[t];
    std::vector<Numbers>& prefixes = prefixes_[t];
    const std::span<const GroupedTable::Edge> children = join_.children(t);
    const auto next = static_cast<uint32_t>(table.count());
    uint32_t number = own_[t];
    if (children.empty() || apart) {
        if (children.empty() && number < next) return number; // a leaf's sub-queries are its conditions
        number = next;
    }
    for (size_t e = 0; e < children.size() && !apart; e++) {
        const uint32_t child = sub_queries_[children[e].neighbour];
        const auto prefix = e + 1 < children.size() ? static_cast<uint32_t>(prefixes[e].size()) : next;
        number = prefixes[e].emplace(uint64_t{number} << 32 | child, prefix).first->second;
    }
    if (number < next) return number;
    table.own.push_back(own_[t]);
    for (size_t e = 0; e < children.size(); e++) table.children[e].push_back(sub_queries_[children[e].neighbour]);
    return next;
}

void SubQueries::add(const FilterQuery& query, bool apart) {
    for (size_t i = join_.order().size(); i-- > 0;) {
        const size_t t = join_.order()[i];
        own_[t] = find_condition(t, {t == value_table_ ? query.power : 0, query.filters[t]}, apart);
        sub_queries_[t] = find_sub_query(t, apart);
    }
    const uint32_t whole = sub_queries_[join_.order()[0]];
    coefficients_.resize(tables_[join_.order()[0]].count(), 0);
    coefficients_[whole] += query.coefficient;
}

} // namespace btml::relational
