// The rows of bags, joined from the keys of held tables and handed on as they are found: they are never in memory.
#pragma once

#include "core/data/dictionary.hpp"
#include "core/relational/join/generic_join.hpp"
#include "core/relational/streamed/bag_order.hpp"
#include "core/relational/streamed/message.hpp"

#include <functional>
#include <map>

namespace btml::relational {

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
