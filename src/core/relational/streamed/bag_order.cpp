#include "core/relational/streamed/bag_order.hpp"

#include "core/relational/join/generic_join.hpp"

#include <algorithm>

namespace btml::relational {

BagOrder::BagOrder(const StreamedPlan& plan)
    : plan_(plan), parents_(plan.tables.size(), {-1, nullptr}), numbered_(plan.tables.size()) {
    for (size_t parent = 0; parent < plan.tables.size(); parent++)
        for (const StreamedChild& child : plan.tables[parent].children)
            parents_[child.table] = {static_cast<int>(parent), &child};
    for (int table = plan.root(); table >= 0; table--)
        if (const StreamedBag* const bag = bag_of(table)) first_[table] = first_attribute(*bag);
    for (size_t child = 0; child < plan.tables.size(); child++)
        if (parents_[child].edge) numbered_[child] = numbered_edge(static_cast<int>(child));
}

std::vector<int> BagOrder::attributes_in(int table, const std::vector<int>& order) const {
    std::vector<int> part;
    for (int attribute : order)
        for (const auto& [column, of_column] : plan_.attributes[table])
            if (of_column == attribute) part.push_back(attribute);
    return part;
}

std::vector<int> BagOrder::tables_of(const StreamedBag& bag) const {
    std::vector<int> tables;
    for (size_t t = 0; t < plan_.tables.size(); t++)
        if (!attributes_in(static_cast<int>(t), bag.attributes).empty()) tables.push_back(static_cast<int>(t));
    return tables;
}

const StreamedBag* BagOrder::bag_of(int table) const {
    for (const StreamedBag& bag : plan_.bags)
        if (bag.table == table) return &bag;
    return nullptr;
}

// The attributes in which rows of a bag equal those that they meet of a parent that is a bag, too.
std::vector<int> BagOrder::shared_attributes(const StreamedBag& bag) const {
    std::vector<int> shared;
    const Parent& parent = parents_[bag.table];
    const StreamedBag* const above = parent.edge ? bag_of(parent.table) : nullptr;
    if (!above || parent.edge->join != StreamedJoin::inner) return shared;
    for (size_t k = 0; k < parent.edge->key.size(); k++) {
        const int attribute = bag.attributes[plan_.tables[bag.table].key[k]];
        if (attribute == above->attributes[parent.edge->key[k]]) shared.push_back(attribute);
    }
    return shared;
}

// The one that the parent begins with if they share it, or else the one that most bags below share, best where it is in
// the bag's own key: chunks then add to different entries of its message.
int BagOrder::first_attribute(const StreamedBag& bag) const {
    std::map<int, int> uses; // by attribute
    for (const StreamedBag& other : plan_.bags)
        for (int attribute : shared_attributes(other))
            if (parents_[other.table].table == bag.table) uses[attribute] += 2;
    for (int column : plan_.tables[bag.table].key) uses[bag.attributes[column]]++;
    for (int attribute : shared_attributes(bag))
        if (attribute == first_.at(parents_[bag.table].table)) return attribute;
    const std::vector<int> order = attributes(bag);
    return *std::max_element(order.begin(), order.end(), [&](int one, int other) { return uses[one] < uses[other]; });
}

bool BagOrder::is_nested(int table) const {
    const StreamedBag* const bag = bag_of(table);
    if (!bag) return false;
    const std::vector<int> shared = shared_attributes(*bag);
    return std::find(shared.begin(), shared.end(), first_.at(table)) != shared.end() &&
           first_.at(table) == first_.at(parents_[table].table);
}

// The bag and the table that an edge of the join tree is between, if the table's rows number its message. Chunks of a
// bag, which are made on several threads, add to different numbers.
BagOrder::NumberedEdge BagOrder::numbered_edge(int child) const {
    NumberedEdge edge;
    const int parent = parents_[child].table;
    for (const StreamedBag& bag : plan_.bags)
        if (bag.table == child || bag.table == parent) edge = {&bag, bag.table == child ? parent : child};
    if (!edge.bag || plan_.is_bag(edge.table) || plan_.message_groups(child) > 0) return {};
    const std::vector<int>&above = parents_[child].edge->key, &below = plan_.tables[child].key;
    const std::vector<int>&of_bag = edge.table == child ? above : below,
          &of_table = edge.table == child ? below : above;
    std::vector<std::pair<int, int>> key;
    for (size_t k = 0; k < of_bag.size(); k++) key.emplace_back(of_table[k], edge.bag->attributes[of_bag[k]]);
    const std::vector<int> order = attributes(*edge.bag), of_rows = attributes_in(edge.table, order);
    const bool is_whole_key =
        !key.empty() && key.size() == of_rows.size() && std::all_of(key.begin(), key.end(), [&](const auto& pair) {
            const std::vector<std::pair<int, int>>& of = plan_.attributes[edge.table];
            return std::find(of.begin(), of.end(), pair) != of.end();
        });
    return is_whole_key && (edge.table == child || of_rows.front() == order.front()) ? edge : NumberedEdge{};
}

std::vector<int> BagOrder::attributes(const StreamedBag& bag) const {
    std::vector<std::vector<int>> parts;
    for (int table : tables_of(bag)) parts.push_back(attributes_in(table, bag.attributes));
    const auto first = first_.find(bag.table);
    return attribute_order(parts, first == first_.end() ? -1 : first->second);
}

} // namespace btml::relational
