// The rows of bags, joined from the keys of held tables and handed on as they are found: they are never in memory.
#pragma once

#include "core/data/dictionary.hpp"
#include "core/relational/join/generic_join.hpp"
#include "core/relational/streamed/message.hpp"
#include "core/relational/streamed/plan.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace btml::relational {

class BagOrder {
  public:
    // Keeps a reference to the plan.
    explicit BagOrder(const StreamedPlan& plan)
        : plan_(plan), parents_(plan.tables.size(), {-1, nullptr}), numbered_(plan.tables.size()) {
        for (size_t parent = 0; parent < plan.tables.size(); parent++)
            for (const StreamedChild& child : plan.tables[parent].children)
                parents_[child.table] = {static_cast<int>(parent), &child};
        for (int table = plan.root(); table >= 0; table--)
            if (const StreamedBag* const bag = bag_of(table)) first_[table] = first_attribute(*bag);
        for (size_t child = 0; child < plan.tables.size(); child++)
            if (parents_[child].edge) numbered_[child] = numbered_edge(static_cast<int>(child));
    }

    // A bag and the table at the other end of an edge of the join tree, whose rows number the edge's message.
    struct NumberedEdge {
        const StreamedBag* bag = nullptr;
        int table = -1;
    };

    // Tables whose attributes a bag has, one or more of them.
    std::vector<int> tables_of(const StreamedBag& bag) const {
        std::vector<int> tables;
        for (size_t t = 0; t < plan_.tables.size(); t++)
            if (!attributes_in(static_cast<int>(t), bag.attributes).empty()) tables.push_back(static_cast<int>(t));
        return tables;
    }
    // The attributes of the bag as its join takes them, and those of a table in the same order.
    std::vector<int> attributes(const StreamedBag& bag) const {
        std::vector<std::vector<int>> parts;
        for (int table : tables_of(bag)) parts.push_back(attributes_in(table, bag.attributes));
        const auto first = first_.find(bag.table);
        return attribute_order(parts, first == first_.end() ? -1 : first->second);
    }
    std::vector<int> attributes_in(int table, const std::vector<int>& order) const {
        std::vector<int> part;
        for (int attribute : order)
            for (const auto& [column, of_column] : plan_.attributes[table])
                if (of_column == attribute) part.push_back(attribute);
        return part;
    }
    // Whether the table is a bag whose rows have the first attribute of a parent bag's: what the parent's chunks meet
    // of its message can be made chunk by chunk.
    bool is_nested(int table) const {
        const StreamedBag* const bag = bag_of(table);
        if (!bag) return false;
        const std::vector<int> shared = shared_attributes(*bag);
        return std::find(shared.begin(), shared.end(), first_.at(table)) != shared.end() &&
               first_.at(table) == first_.at(parents_[table].table);
    }
    // The edge from this table to its parent if the message has numbers for keys, else one without a bag: it is between
    // a bag and a table that the bag is joined from, all of whose attributes there are the key.
    const NumberedEdge& numbered(int child) const { return numbered_[child]; }

    struct Parent {
        int table; // -1: there is none
        const StreamedChild* edge;
    };
    const Parent& parent(int table) const { return parents_[table]; }
    // The bag that the table is, or null.
    const StreamedBag* bag_of(int table) const {
        for (const StreamedBag& bag : plan_.bags)
            if (bag.table == table) return &bag;
        return nullptr;
    }

  private:
    // The attributes in which rows of a bag equal those that they meet of a parent that is a bag, too.
    std::vector<int> shared_attributes(const StreamedBag& bag) const {
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
    // The one that the parent begins with if they share it, or else the one that most bags below share, best where it
    // is in the bag's own key: chunks then add to different entries of its message.
    int first_attribute(const StreamedBag& bag) const {
        std::map<int, int> uses; // by attribute
        for (const StreamedBag& other : plan_.bags)
            for (int attribute : shared_attributes(other))
                if (parents_[other.table].table == bag.table) uses[attribute] += 2;
        for (int column : plan_.tables[bag.table].key) uses[bag.attributes[column]]++;
        for (int attribute : shared_attributes(bag))
            if (attribute == first_.at(parents_[bag.table].table)) return attribute;
        const std::vector<int> order = attributes(bag);
        return *std::max_element(order.begin(), order.end(),
                                 [&](int one, int other) { return uses[one] < uses[other]; });
    }
    // The bag and the table that an edge of the join tree is between, if the table's rows number its message. Chunks of
    // a bag, which are made on several threads, add to different numbers.
    NumberedEdge numbered_edge(int child) const {
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

    const StreamedPlan& plan_;
    std::vector<Parent> parents_;        // by table
    std::map<int, int> first_;           // by bag's table: the attribute that its join begins with
    std::vector<NumberedEdge> numbered_; // by child
};

// The join that makes a bag, in chunks of its first attribute. Chunk after chunk its rows come in one order.
class BagJoin {
  public:
    // known, numbers: as for TablePass::add.
    using Body =
        std::function<void(RowBatch& batch, const std::vector<const uint32_t*>& known, const uint32_t* numbers)>;

    // order: the attributes as the join takes them. words: by attribute of the bag, the value of each key. tables: that
    // the relations are of; number: the one whose rows number the bag's message, or -1.
    BagJoin(const StreamedPlan& plan, const StreamedBag& bag, std::vector<int> order,
            std::vector<SortedRelation> relations, std::vector<int> tables, int number,
            std::vector<const Buffer<int64_t>*> words);

    // Looks up what the rows of the bag's children meet, for those children that the bag is joined from with all of
    // their keys: a row of such a relation meets one entry, in however many rows of the bag it is.
    // A nested bag has no message yet, but null, and is left out.
    void look_up(const std::vector<std::unique_ptr<Message>>& children, RunContext& context);

    // The keys of the first attribute that chunks begin with, and the end of the last. They do not depend on how many
    // threads there are.
    std::vector<Key> bounds() const;
    // Rows of the relation whose pieces the chunks are.
    uint64_t rows_cut() const { return relation_cut().rows; }
    // The column of the bag that differs between rows of different chunks.
    int first_column() const;
    // Calls body(batch) with the rows whose first attribute is `begin` or more and less than `end`, each combination of
    // the bag's attributes once. Chunks may be joined on several threads at a time, each with a context of its own.
    void join(Key begin, Key end, RunContext& context, const Body& body) const;

  private:
    // A child of the bag of which each row of a relation meets one entry.
    struct Known {
        size_t child, relation;
        Buffer<uint32_t> entries; // by row of the relation
    };

    class BatchFiller;

    const SortedRelation& relation_cut() const;
    int relation_with(const StreamedChild& child) const;
    Buffer<uint32_t> entries_of(const SortedRelation& relation, const StreamedChild& child, const Message& message,
                                RunContext& context) const;
    void keep_met(Known& known, RunContext& context);
    void drop_columns();

    const StreamedPlan& plan_;
    const StreamedBag& bag_;
    std::vector<int> order_;
    std::vector<SortedRelation> relations_;
    std::vector<int> tables_; // of each relation
    const int number_;        // the relation whose rows are the numbers of the bag's message, or -1
    std::vector<Known> known_;
    std::vector<size_t> places_;  // by column of the bag: its attribute's place in the order
    std::vector<size_t> columns_; // of the bag, those that somebody reads
    std::vector<const Buffer<int64_t>*> words_;
};

// What bags are joined from: the keys of the tables that are held.
class BagRows {
  public:
    // Bytes of a row's key, as it is and sorted, and of each distinct value with the slot that it is found by.
    static constexpr size_t key_bytes = 2 * sizeof(Key), value_bytes = 2 * sizeof(int64_t);

    BagRows(const StreamedPlan& plan, RunContext& context);

    // To be called for each table that a bag reads, before that bag is joined.
    void add_table(int table, const HeldRows& rows);
    bool has_table(int table) const { return !tables_[table].keys.empty(); }
    // Whether the message of the table has numbers for keys: those of the rows of the other table's sorted relation.
    bool is_numbered(int child) const { return order_.numbered(child).bag; }
    // Numbers the keys of such a message, after the table was added. Returns how many there are.
    uint64_t number(int child);
    // The numbers of the table's rows; rows without a key have the number of keys.
    Buffer<RowId>& numbers_of_rows(int child) { return numbered_.at(child).second; }
    const BagOrder& order() const { return order_; }
    BagJoin join_of(const StreamedBag& bag);
    // Gives back all memory.
    void clear();

  private:
    SortedRelation sorted_relation(const StreamedBag& bag, int table, RunContext& context,
                                   Buffer<RowId>* numbers = nullptr) const;

    const StreamedPlan& plan_;
    const BagOrder order_;
    RunContext& context_;
    std::map<int, IntegerDictionary> dictionaries_;                    // by attribute
    std::vector<Table> tables_;                                        // keys only
    std::map<int, std::pair<SortedRelation, Buffer<RowId>>> numbered_; // by child: the rows, and numbers_of_rows()
};

} // namespace btml::relational
