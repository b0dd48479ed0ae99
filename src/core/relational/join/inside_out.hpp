// Inside-out message passing: a SumProd query over a join in time linear in its tables, whatever the size of the join.
// The message of child c to parent p on separator key κ is m(κ) = ⊕ over the rows ρ of c with that key of
// φ_c(ρ) ⊗ the messages of c's children on ρ's keys. (FAQ: Abo Khamis, Ngo, Rudra 2016.)
#pragma once

#include "core/numbers/exact_sum.hpp"
#include "core/relational/join/join.hpp"
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

// Every row has a factor of its own: by table, and by row.
template <Semiring S>
struct RowFactors {
    const std::vector<Buffer<typename S::Value>>& values;

    template <class Body>
    void visit(int table, Body&& body) const {
        body([numbers = values[static_cast<size_t>(table)].data()](RowId row) { return numbers[row]; });
    }
};

// A message to a table: its values, and the keys by which the table's rows find theirs.
template <class Value>
struct Heard {
    const Key* keys;
    const Value* message;
};

// Rows whose products are formed together, message by message; they stay in the cache.
template <class Value>
constexpr uint64_t rows_of_products = std::max<uint64_t>(16, (uint64_t{1} << 14) / sizeof(Value));

// Calls body(first, n, products) for blocks of a table's rows from `begin` to `end`, with products[i] = φ(ρ) ⊗ what row
// ρ = first + i hears. products: room for so many.
template <Semiring S, class Phi, class Body>
void for_each_product(uint64_t begin, uint64_t end, const Phi& phi, const std::vector<Heard<typename S::Value>>& heard,
                      Buffer<typename S::Value>& products, const Body& body) {
    using Value = typename S::Value;
    Value* const product = products.data();
    for (uint64_t first = begin; first < end; first += products.size()) {
        const uint64_t n = std::min<uint64_t>(products.size(), end - first);
        for (uint64_t i = 0; i < n; i++) product[i] = phi(static_cast<RowId>(first + i));
        for (const auto [keys, message] : heard)
            for (uint64_t i = 0; i < n; i++) product[i] = S::multiply(product[i], message[keys[first + i]]);
        body(first, n, static_cast<const Value*>(product));
    }
}

template <Semiring S, class FactorsOf>
class InsideOut {
  public:
    using Value = typename S::Value;

    // Passes messages from the leaves up to `root`, any table of the join: they answer the query for each of the root's
    // rows and as a whole.
    InsideOut(const Join& join, int root, FactorsOf factors, RunContext& context)
        : join_(join), tree_(reroot(join.tree(), root)), factors_(std::move(factors)), context_(context) {
        for (const Table& table : join.tables()) all_rows_ += table.rows;
        for (size_t t = 0; t < join.tables().size(); t++) up_.emplace_back(context.memory(), what);
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

    // Returns the same for each row of the root, over the join's rows that it takes part in.
    Buffer<Value> values() {
        Buffer<Value> result(context_.memory(), what, rows(tree_.root()));
        for_each_block(tree_.root(), [&](uint64_t begin, uint64_t n, const Value* values) {
            std::copy(values, values + n, result.data() + begin);
        });
        return result;
    }

    // The join tree hung up at the root.
    const JoinTree& tree() const { return tree_; }
    // The message that a table other than the root sent to its parent, by key of their separator.
    const Buffer<Value>& message(int child) const { return up_[child]; }

  private:
    static constexpr const char* what = "the messages of a query over a join";

    uint64_t rows(int table) const { return join_.tables()[table].rows; }
    const JoinTree::Node& node(int table) const { return tree_.nodes[table]; }

    // body(begin, n, products) over consecutive blocks of a table's rows, with products[i] = φ(ρ) ⊗ the messages of the
    // children on the keys of row ρ = begin + i.
    template <class Body>
    void for_each_block(int table, Body&& body) {
        Buffer<Value> products(context_.memory(), what, rows_of_products<Value>);
        std::vector<Heard<Value>> heard;
        for (int child : node(table).children) heard.push_back({join_.keys(table, child).data(), up_[child].data()});
        factors_.visit(table, [&](auto&& phi) {
            context_.in_blocks(rows(table), sizeof(Value) / 2, [&](uint64_t begin, uint64_t end) {
                context_.progress("passing messages", done_rows_, all_rows_);
                done_rows_ = std::min(all_rows_, done_rows_ + end - begin);
                for_each_product<S>(begin, end, phi, heard, products, body);
            });
        });
    }

    void send_up(int child) {
        const int parent = node(child).parent;
        up_[child] = Buffer<Value>(context_.memory(), what, join_.key_count(child, parent), S::zero());
        const Key* const keys = join_.keys(child, parent).data();
        Value* const message = up_[child].data();
        for_each_block(child, [&](uint64_t begin, uint64_t n, const Value* values) {
            for (uint64_t i = 0; i < n; i++) {
                Value& sum = message[keys[begin + i]];
                sum = S::add(sum, values[i]);
            }
        });
    }

    const Join& join_;
    JoinTree tree_;
    FactorsOf factors_;
    RunContext& context_;
    uint64_t done_rows_ = 0, all_rows_ = 0;
    std::vector<Buffer<Value>> up_; // by child: the message to its parent
};

} // namespace btml::relational
