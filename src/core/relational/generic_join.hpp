// A worst-case-optimal join of sets: attribute after attribute, the values of all relations that have it are
// intersected (Ngo, Ré, Rudra 2013; leapfrogging as in Veldhuizen 2014). Its time is bounded, up to a logarithm, by the
// AGM bound, which no plan of joins of two is.
#pragma once

#include "core/relational/table.hpp"

#include <functional>

namespace btml::relational {

// A table's projection to some join attributes as a sorted set of tuples: what the join reads as a trie, level by
// level.
struct SortedRelation {
    std::vector<int> attributes;      // in the order of the columns
    std::vector<Buffer<Key>> columns; // distinct tuples, lexicographically ascending
    uint64_t rows = 0;
};

// The key columns of a table, in this order of attributes; the rows that the mask leaves out or that are NULL in one of
// them do not count. tuples: where not null, gets the tuple of each row of the table, or the number of tuples for rows
// that do not count. Error internal for an attribute that the table lacks.
SortedRelation project(const Table& table, const RowMask& mask, std::vector<int> attributes, MemoryBudget& memory,
                       RowBlocks& blocks, Buffer<RowId>* tuples = nullptr);

// The order in which generic joins take the attributes of these relations: each, where possible, in a relation with one
// that came before.
std::vector<int> attribute_order(const std::vector<std::vector<int>>& relations);

class GenericJoin {
  public:
    // Each relation's columns follow the order of `attributes`; each attribute is in some relation.
    GenericJoin(const std::vector<int>& attributes, const std::vector<SortedRelation>& relations, RowBlocks& blocks);

    // Leaves the tuples whose first attribute is `begin` or more and less than `end`.
    void restrict_first(Key begin, Key end);

    // Returns the number of tuples of the natural join, or `most` + 1 as soon as there are more than `most`, and writes
    // the first `fit` of them, lexicographically ascending, into those of the empty columns that are not null: keys[i]
    // gets the values of attributes[i], and rows[r] the rows of relation r that are a part of them. Columns take no
    // room for more.
    uint64_t write(uint64_t fit, uint64_t most, const std::vector<Buffer<Key>*>& keys,
                   const std::vector<Buffer<RowId>*>& rows);
    // Calls body(values, rows) for each tuple, in that order; values[i] is of attributes[i], and rows[r] is the row of
    // relation r that is a part of the tuple.
    using Body = std::function<void(const std::vector<Key>& values, const std::vector<RowId>& rows)>;
    void for_each(const Body& body);

  private:
    struct Range {
        RowId begin, end;
    };
    // A relation that has the attribute of one depth: its rows that agree with the values of the attributes before.
    struct Participant {
        size_t relation;
        const Key* column;
        Range whole;
        RowId at, next;
    };
    using Participants = std::vector<Participant>;

    bool align(Participants& participants);
    template <class Emit>
    bool extend(size_t depth, Emit& emit);
    template <class Emit>
    bool finish_tuples(Participants& participants, Emit& emit);

    std::vector<Participants> depths_;
    std::vector<Range> ranges_; // of each relation
    std::vector<Key> values_;   // of the tuple so far
    std::vector<RowId> rows_;   // of each relation all of whose attributes have values
    RowBlocks& blocks_;
};

} // namespace btml::relational
