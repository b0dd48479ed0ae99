// Inside-out for many queries at once: a message has a value of a ring, a number or a spectrum, for each of its keys
// and each distinct sub-query (see SubQueries). On the way up these are the sub-queries of the tables behind the
// message. On the way down the queries, times their coefficients, are added up as soon as they ask the same of the
// tables ahead, so that again there is one value for each sub-query of those.
#pragma once

#include "core/relational/filtered/sub_queries.hpp"

#include <functional>

namespace btml::relational {

// Which of an array's values belongs to each sub-query, and which sub-queries have it.
class Columns {
  public:
    // index: by sub-query; values: how many there are; width: the sub-queries filled up to whole lanes.
    Columns(std::vector<uint32_t> index, size_t values, size_t width);

    size_t values() const { return first_.size() - 1; }
    bool is_single() const { return values() == 1; }
    const uint32_t* index() const { return same_ ? nullptr : index_.data(); } // null: value i belongs to sub-query i
    // out[i] = Σ of the sub-queries' `numbers` that have value i.
    template <class Value>
    void add_up(const Value* numbers, Value* out) const {
        if (same_)
            std::copy_n(numbers, values(), out);
        else
            kernels::add_up(out, numbers, order_.data(), first_.data(), values());
    }

  private:
    std::vector<uint32_t> index_, order_, first_;
    bool same_;
};

// Value: double or Spectrum::Value.
template <class Value>
class SubQueryMessages {
  public:
    // What is asked of the tables' own rows: fill(table, group, sums, worker) writes a sum over the rows of a group for
    // each condition of the table; steps(table) is about how many nanoseconds that takes for all groups.
    struct Local {
        std::function<void(size_t, uint64_t, Value*, int)> fill;
        std::function<uint64_t(size_t)> steps;
    };

    explicit SubQueryMessages(const FilteredJoin& filtered);

    // Bytes that the values for such queries take, and that those for one more take at most.
    static uint64_t bytes(const GroupedJoin& join, const SubQueries& queries);
    static uint64_t bytes_per_query(const GroupedJoin& join);

    // The queries to evaluate, and which groups take part; both are looked at until the next call.
    void set(const SubQueries& queries, const AliveGroups& alive);
    void send_up(const Local& local);
    // Returns the answer of each sub-query of the root, after send_up().
    std::vector<Value> totals();
    // Must come after send_up().
    void send_down();
    // After send_down(), by condition of the table: the queries' sum, times their coefficients, over the rows of the
    // other tables that a row of the group meets, of the queries with that condition. Until the worker's next call.
    const Value* factors(size_t table, uint64_t group, int worker);
    // About how many nanoseconds factors() takes for all groups.
    uint64_t steps(size_t table) const;

  private:
    static constexpr const char* what = "the messages of queries over a join";

    using Children = std::vector<size_t>; // of a table, by number
    struct OfTable {
        size_t width = 0;            // sub-queries, filled up to whole lanes
        size_t conditions = 0;       // likewise
        std::vector<Columns> own;    // one: the conditions
        std::vector<Columns> below;  // by child
        std::vector<Children> twins; // all children, those whose edges have the same keys together
        Buffer<Value> sums;          // by group and condition; not of leaves
        Buffer<Value> up, down;      // by key of the parent's edge and sub-query
    };
    struct Scratch {
        std::vector<kernels::Factor<Value>> factors;
        std::vector<kernels::Factor<Value>> left_out; // each of one product
        Value scale;
        bool is_scaled = false;
        std::vector<Value> conditions, products;
    };
    // Some groups of one key.
    struct Piece {
        RowId begin, end;
    };
    struct KeyLoop;

    const OfTable& of(size_t t) const { return tables_[t]; }
    OfTable& of(size_t t) { return tables_[t]; }
    bool is_root(size_t t) const { return t == filtered_.join.order()[0]; }
    bool is_leaf(size_t t) const { return !is_root(t) && of(t).below.empty(); }

    void start(Scratch& scratch) const;
    void add_factor(Scratch& scratch, const Value* values, const Columns& columns) const;
    const Value* from_child(size_t t, uint64_t group, size_t child) const;
    // The messages of the children; several that are left out are so of one product each.
    void add_children(Scratch& scratch, size_t t, uint64_t group, const Children& left_out) const;
    void add_from_above(Scratch& scratch, size_t t, uint64_t group) const;
    void multiply(const Scratch& scratch, bool is_first, Value* out, size_t width) const;
    std::vector<Children> find_twins(size_t t) const;
    uint64_t groups_of_piece(const KeyLoop& loop) const;
    bool add_groups(const KeyLoop& loop, Piece piece, Value* sum, int worker);
    void run(const KeyLoop& loop);
    void send_to_parent(size_t t, const Local& local);
    void send_to_children(size_t t, const Children& twins);

    const FilteredJoin filtered_;
    const AliveGroups* alive_ = nullptr;
    std::vector<OfTable> tables_;
    std::vector<Value> coefficients_; // by sub-query of the root
    std::vector<Scratch> scratch_;    // by thread
};

} // namespace btml::relational
