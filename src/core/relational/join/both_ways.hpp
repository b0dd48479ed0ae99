// Messages along every edge of a join tree, up and down: two passes over the tables tell each of them what its rows
// join with, where inside-out takes a pass for each table.
#pragma once

#include "core/base/worker_contexts.hpp"
#include "core/relational/join/inside_out.hpp"

namespace btml::relational {

template <Semiring S>
class BothWays {
  public:
    using Value = typename S::Value;

    // values: φ of each row, by table. Keeps references to both. Messages that do not wait for each other are sent side
    // by side; their bits depend on the tables alone.
    BothWays(const Join& join, const std::vector<Buffer<Value>>& values, ThreadTeam& team, RunContext& context)
        : join_(join), values_(values) {
        const auto tables = static_cast<int>(join.tables().size());
        for (int i = 0; i < 2 * tables; i++) messages_.emplace_back(context.memory(), what);
        std::vector<std::vector<Edge>> rounds(join.tables().size());
        for (int from = 0; from < tables; from++)
            for (const int to : join.tree().neighbours(from)) rounds[waits({from, to})].push_back({from, to});
        for (size_t r = 0; r < rounds.size(); r++) {
            context.progress("passing messages", r, rounds.size());
            for_each_item(team, rounds[r].size(), context, [&](size_t i, RunContext& own) { send(rounds[r][i], own); });
        }
    }

    // Returns for each row of a table ⊕ over the join's rows that it is part of, of ⊗ over the other tables of φ.
    Buffer<Value> beside(int table, RunContext& context) const {
        Buffer<Value> result(context.memory(), what, join_.tables()[table].rows);
        for_each_block(
            table, none, [](RowId) { return S::one(); }, context,
            [&](uint64_t begin, uint64_t n, const Value* values) {
                std::copy(values, values + n, result.data() + begin);
            });
        return result;
    }

  private:
    static constexpr const char* what = "the messages of a query over a join";
    static constexpr int none = -1;

    struct Edge {
        int from, to;
    };

    // Returns how many messages, one after the other, are sent before this one can be.
    size_t waits(Edge edge) const {
        size_t count = 0;
        for (const int other : join_.tree().neighbours(edge.from))
            if (other != edge.to) count = std::max(count, 1 + waits({other, edge.from}));
        return count;
    }

    // Returns the message's place: those of tables to their parents come first.
    size_t place_of(Edge edge) const {
        const std::vector<JoinTree::Node>& nodes = join_.tree().nodes;
        return nodes[edge.from].parent == edge.to ? edge.from : nodes.size() + edge.to;
    }

    void send(Edge edge, RunContext& context) {
        Buffer<Value>& message = messages_[place_of(edge)];
        message = Buffer<Value>(context.memory(), what, join_.key_count(edge.from, edge.to), S::zero());
        const Key* const keys = join_.keys(edge.from, edge.to).data();
        const Value* const own = values_[edge.from].data();
        for_each_block(
            edge.from, edge.to, [=](RowId row) { return own[row]; }, context,
            [&](uint64_t begin, uint64_t n, const Value* values) {
                for (uint64_t i = 0; i < n; i++) {
                    Value& sum = message[keys[begin + i]];
                    sum = S::add(sum, values[i]);
                }
            });
    }

    // Calls body(begin, n, products) for blocks of a table's rows: φ times the messages of all neighbours but one.
    template <class Phi, class Body>
    void for_each_block(int table, int but, const Phi& phi, RunContext& context, const Body& body) const {
        std::vector<int> neighbours = join_.tree().neighbours(table);
        std::sort(neighbours.begin(), neighbours.end()); // as inside-out multiplies them, whatever the root
        std::vector<Heard<Value>> heard;
        for (const int from : neighbours)
            if (from != but)
                heard.push_back({join_.keys(table, from).data(), messages_[place_of({from, table})].data()});
        Buffer<Value> products(context.memory(), what, rows_of_products<Value>);
        context.in_blocks(join_.tables()[table].rows, sizeof(Value) / 2, [&](uint64_t begin, uint64_t end) {
            for_each_product<S>(begin, end, phi, heard, products, body);
        });
    }

    const Join& join_;
    const std::vector<Buffer<Value>>& values_;
    std::vector<Buffer<Value>> messages_;
};

} // namespace btml::relational
