// A worst-case-optimal join of sets: attribute after attribute, the values of all relations that have it are
// intersected (Ngo, Ré, Rudra 2013; leapfrogging as in Veldhuizen 2014). Its time is bounded, up to a logarithm, by the
// AGM bound, which no plan of joins of two is. The values of the last attribute, where most of the time goes, are
// intersected for all tuples at once.
#pragma once

#include "core/relational/join/table.hpp"

#include <functional>

namespace btml::relational {

// A table's projection to some join attributes as a sorted set of tuples: what the join reads as a trie, level by
// level.
struct SortedRelation {
    std::vector<int> attributes;      // in the order of the columns
    std::vector<Buffer<Key>> columns; // distinct tuples, lexicographically ascending
    uint64_t rows = 0;
    uint64_t last_end = 0; // all values of the last column are less
};

// The key columns of a table, in this order of attributes; the rows that the mask leaves out or that are NULL in one of
// them do not count. tuples: where not null, gets the tuple of each row of the table, or the number of tuples for rows
// that do not count. Error internal for an attribute that the table lacks.
SortedRelation project(const Table& table, const RowMask& mask, std::vector<int> attributes, RunContext& context,
                       Buffer<RowId>* tuples = nullptr);

// The order in which generic joins take the attributes of these relations: each, where possible, in a relation with one
// that came before. first: the one to begin with, or -1 for any.
std::vector<int> attribute_order(const std::vector<std::vector<int>>& relations, int first = -1);

// Tuples of a join that differ in their last attribute only.
struct JoinedTuples {
    struct Column {
        const uint32_t* first;
        uint32_t step; // 0: all tuples have the same
        uint32_t operator[](uint32_t tuple) const { return first[size_t{tuple} * step]; }
    };

    uint32_t count = 0;
    std::vector<Column> values; // by attribute
    std::vector<Column> rows;   // by relation: the row that is a part of the tuple
};

class GenericJoin {
  public:
    // Each relation's columns follow the order of `attributes`, of which there is one or more; each is in some
    // relation.
    GenericJoin(const std::vector<int>& attributes, const std::vector<SortedRelation>& relations, RunContext& context);

    GenericJoin(const GenericJoin&) = delete;
    GenericJoin& operator=(const GenericJoin&) = delete;

    // Leaves the tuples whose first attribute is `begin` or more and less than `end`.
    void restrict_first(Key begin, Key end);

    // Returns the number of tuples of the natural join, or `most` + 1 as soon as there are more than `most`, and writes
    // the first `fit` of them, lexicographically ascending, into those of the empty columns that are not null: keys[i]
    // gets the values of attributes[i], and rows[r] the rows of relation r that are a part of them. Columns take no
    // room for more.
    uint64_t write(uint64_t fit, uint64_t most, const std::vector<Buffer<Key>*>& keys,
                   const std::vector<Buffer<RowId>*>& rows);
    // Calls body(tuples) until all tuples were in one, in that order.
    using Body = std::function<void(const JoinedTuples& tuples)>;
    void for_each(const Body& body);

  private:
    static constexpr uint32_t max_found = 1024;

    struct Range {
        RowId begin, end;
        RowId size() const { return end - begin; }
        bool operator==(const Range&) const = default;
    };
    // A relation that has the attribute of one depth: its rows that agree with the values of the attributes before.
    struct Participant {
        size_t relation;
        const Key* column;
        Range whole;
        RowId at, next;
    };
    using Participants = std::vector<Participant>;
    // Of a relation with the last attribute. As long as its rows that agree with the values before are the same, they
    // may be found by the last value at once; that is made up as soon as it costs no more than was spent without it.
    struct LastRows {
        Buffer<RowId> by_key;     // the row plus 1; 0 for none. Empty: there would be too many keys.
        std::vector<RowId> found; // by tuple
        Range rows{0, 0};         // those asked for last
        bool known = false;       // they are in by_key
        uint64_t spent = 0;
    };

    bool align(Participants& participants);
    template <class Emit>
    bool extend(size_t depth, Emit& emit);
    template <class Emit>
    bool finish_tuples(Participants& participants, Emit& emit);
    void ask_for(const Participant& participant, uint64_t cost);
    void put_lead_first(Participants& participants) const;
    void keep_partners(Participants& participants, size_t number);

    std::vector<Participants> depths_;
    std::vector<Range> ranges_; // of each relation
    std::vector<Key> values_;   // of the tuple so far
    std::vector<RowId> rows_;   // of each relation all of whose attributes have values
    std::vector<LastRows> last_;
    std::vector<Key> last_values_;
    std::vector<uint32_t> picked_;
    JoinedTuples tuples_;
    RunContext& context_;
};

} // namespace btml::relational
