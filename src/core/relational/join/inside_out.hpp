// Inside-out message passing: a SumProd query over a join in time linear in its tables, whatever the size of the join.
// The message of child c to parent p on separator key κ is m(κ) = ⊕ over the rows ρ of c with that key of
// φ_c(ρ) ⊗ the messages of c's children on ρ's keys. (FAQ: Abo Khamis, Ngo, Rudra 2016.)
#pragma once

#include "core/numbers/exact_sum.hpp"
#include "core/relational/join/join.hpp"
#include "core/relational/join/row_blocks.hpp"
#include "core/relational/join/semiring.hpp"

namespace btml::relational {

// A query's factors are a type with visit(table, body): it calls body(phi) once, where phi(row) is φ_table(row), a
// Value of the semiring. What is known of a whole table is so decided outside of the loop over its rows. The bags of a
// cyclic join are tables too; their factor is the identity of ⊗.

// Every factor is the identity of ⊗.
template <Semiring S>
struct NoFactors {
    template <class Body>
    void visit(int, Body&& body) const {
        body([](RowId) { return S::one(); });
    }
};

template <Semiring S, class FactorsOf>
class InsideOut {
  public:
    using Value = typename S::Value;

    // Passes messages from the leaves up to `root`, any table of the join: 2(τ − 1) messages answer the query for each
    // row of every table, the τ − 1 messages up to the root already for the root's rows and as a whole.
    InsideOut(const Join& join, int root, FactorsOf factors, RunContext& context)
        : join_(join),
          tree_(reroot(join.tree(), root)),
          factors_(std::move(factors)),
          context_(context),
          blocks_(context, "passing messages", upward_work()) {
        for (size_t t = 0; t < join.tables().size(); t++) {
            up_.emplace_back(context.memory(), what);
            down_.emplace_back(context.memory(), what);
        }
        for (size_t i = tree_.order.size(); i-- > 1;) send_up(tree_.order[i]);
    }

    // ⊕ over the join's rows of ⊗ over the tables of φ_t; the identity of ⊕ for the empty join. Sums of numbers are
    // exact, whatever the order of the root's rows.
    Value total() {
        constexpr bool is_exact = std::is_same_v<S, SumProduct>;
        std::conditional_t<is_exact, ExactSum, Value> total{};
        if constexpr (!is_exact) total = S::zero();
        for_each_block(tree_.root(), [&](uint64_t, uint64_t n, const Value* values) {
            for (uint64_t i = 0; i < n; i++)
                if constexpr (is_exact)
                    total.add(values[i]);
                else
                    total = S::add(total, values[i]);
        });
        if constexpr (is_exact)
            return total.nearest();
        else
            return total;
    }

    // Returns the same for each row of a table, over the join's rows that it takes part in. Tables other than the root
    // have values after pass_down() only.
    Buffer<Value> values(int table) {
        if (table != tree_.root() && !passed_down_)
            throw Error(ErrorCode::internal, "a query by row of a table needs the downward messages");
        Buffer<Value> result(context_.memory(), what, rows(table));
        for_each_block(table, [&](uint64_t begin, uint64_t n, const Value* values) {
            std::copy(values, values + n, result.data() + begin);
        });
        return result;
    }

    // The join tree hung up at the root.
    const JoinTree& tree() const { return tree_; }
    // The message that a table other than the root sent to its parent, by key of their separator.
    const Buffer<Value>& message(int child) const { return up_[child]; }

    // Passes messages from the root down to the leaves.
    void pass_down() {
        for (int table : tree_.order) send_down(table);
        passed_down_ = true;
    }

  private:
    static constexpr const char* what = "the messages of a query over a join";
    // Rows whose products are formed together, table by table; they stay in the cache.
    static constexpr uint64_t block = std::max<uint64_t>(16, (uint64_t{1} << 14) / sizeof(Value));
    static constexpr uint64_t poll = std::max<uint64_t>(block, 8 * RowBlocks::rows_per_poll / sizeof(Value));

    uint64_t rows(int table) const { return join_.tables()[table].rows; }
    const JoinTree::Node& node(int table) const { return tree_.nodes[table]; }

    uint64_t upward_work() const {
        uint64_t work = 0;
        for (const Table& table : join_.tables()) work += table.rows;
        return work;
    }

    Buffer<Value> no_message(int child) const {
        return {context_.memory(), what, join_.key_count(child, node(child).parent), S::zero()};
    }

    static void multiply(Value* products, uint64_t n, const Key* keys, const Value* message) {
        for (uint64_t i = 0; i < n; i++) products[i] = S::multiply(products[i], message[keys[i]]);
    }

    // body(begin, n, products) over consecutive blocks of a table's rows, with products[i] = φ(ρ) ⊗, where there is
    // one, the parent's message on the key of row ρ = begin + i.
    template <class Body>
    void for_each_block_of_own(int table, Buffer<Value>& products, Body&& body) {
        const int parent = node(table).parent;
        const bool from_parent = parent >= 0 && passed_to(table);
        factors_.visit(table, [&](auto&& phi) {
            blocks_.run(
                rows(table),
                [&](uint64_t begin, uint64_t end) {
                    for (uint64_t first = begin; first < end; first += block) {
                        const uint64_t n = std::min(block, end - first);
                        for (uint64_t i = 0; i < n; i++) products[i] = phi(static_cast<RowId>(first + i));
                        if (from_parent)
                            multiply(products.data(), n, join_.keys(table, parent).data() + first, down_[table].data());
                        body(first, n, products.data());
                    }
                },
                poll);
        });
    }

    // Does so with the messages of all children multiplied in.
    template <class Body>
    void for_each_block(int table, Body&& body) {
        Buffer<Value> products(context_.memory(), what, block);
        for_each_block_of_own(table, products, [&](uint64_t begin, uint64_t n, Value* values) {
            for (int child : node(table).children)
                multiply(values, n, join_.keys(table, child).data() + begin, up_[child].data());
            body(begin, n, values);
        });
    }

    void send_up(int child) {
        up_[child] = no_message(child);
        const Key* const keys = join_.keys(child, node(child).parent).data();
        Value* const message = up_[child].data();
        for_each_block(child, [&](uint64_t begin, uint64_t n, const Value* values) {
            for (uint64_t i = 0; i < n; i++) {
                Value& sum = message[keys[begin + i]];
                sum = S::add(sum, values[i]);
            }
        });
    }

    // The message to one child leaves that child's own out. A semiring has no division, so the product over the other
    // children is that over those before it times that over those after it.
    void send_down(int table) {
        const std::vector<int>& children = node(table).children;
        if (children.empty()) return;
        for (int child : children) down_[child] = no_message(child);
        Buffer<Value> prefix(context_.memory(), what, children.size() * block);
        Buffer<Value> suffix(context_.memory(), what, block);
        for_each_block_of_own(table, prefix, [&](uint64_t begin, uint64_t n, Value* own) {
            for (size_t c = 0; c + 1 < children.size(); c++) {
                std::copy(own + c * block, own + c * block + n, own + (c + 1) * block);
                multiply(own + (c + 1) * block, n, join_.keys(table, children[c]).data() + begin,
                         up_[children[c]].data());
            }
            std::fill(suffix.begin(), suffix.end(), S::one());
            for (size_t c = children.size(); c-- > 0;) {
                const Key* const keys = join_.keys(table, children[c]).data() + begin;
                Value* const message = down_[children[c]].data();
                for (uint64_t i = 0; i < n; i++) {
                    Value& sum = message[keys[i]];
                    sum = S::add(sum, S::multiply(own[c * block + i], suffix[i]));
                }
                multiply(suffix.data(), n, keys, up_[children[c]].data());
            }
        });
    }

    // A message on a separator has at least one key unless the join is empty, and then there are no rows to read it.
    bool passed_to(int table) const { return !down_[table].empty(); }

    const Join& join_;
    JoinTree tree_;
    FactorsOf factors_;
    RunContext& context_;
    RowBlocks blocks_;
    std::vector<Buffer<Value>> up_, down_; // by child: to its parent, and from it
    bool passed_down_ = false;
};

} // namespace btml::relational
