// Random joins, acyclic ones and others, and the same joins by brute force over plain vectors.
#pragma once

#include "core/numbers/rng.hpp"
#include "core/relational/join/inside_out.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace btml::relational::test {

class Random {
  public:
    explicit Random(uint64_t seed) : seed_(seed) {}
    int below(int bound) { return static_cast<int>(random_bits(seed_, 0, counter_++) % static_cast<uint64_t>(bound)); }
    bool chance(double probability) { return random_unit(seed_, 1, counter_++) < probability; }

  private:
    uint64_t seed_;
    uint64_t counter_ = 0;
};

using Column = std::vector<Key>;

struct PlainTable {
    std::vector<int> attributes; // of each key column
    std::vector<Column> keys;
    int rows = 0;
    std::vector<double> factors;
    std::vector<uint64_t> content = {}; // of each row, for joins that are sampled
};

struct PlainEdge {
    int left, right;
    std::vector<Column> left_keys, right_keys;
};

// Row numbers, one per table; −1 is the null row of a left join's right table.
using Tuple = std::vector<int>;

struct PlainJoin {
    std::vector<PlainTable> tables;
    std::vector<PlainEdge> edges;

    Key key(size_t table, size_t column, int row) const {
        return row < 0 ? null_key : tables[table].keys[column][static_cast<size_t>(row)];
    }
};

inline bool keys_match(const PlainJoin& join, size_t a, int row_a, size_t b, int row_b) {
    for (size_t i = 0; i < join.tables[a].keys.size(); i++)
        for (size_t j = 0; j < join.tables[b].keys.size(); j++) {
            if ((a == b && i == j) || join.tables[a].attributes[i] != join.tables[b].attributes[j]) continue;
            const Key key = join.key(a, i, row_a);
            if (key == null_key || key != join.key(b, j, row_b)) return false;
        }
    return true;
}

inline bool edge_matches(const PlainEdge& edge, int left_row, int right_row) {
    for (size_t i = 0; i < edge.left_keys.size(); i++) {
        const Key key = left_row < 0 ? null_key : edge.left_keys[i][static_cast<size_t>(left_row)];
        if (key == null_key || key != edge.right_keys[i][static_cast<size_t>(right_row)]) return false;
    }
    return true;
}

// Does right_row belong to what `left LEFT JOIN right` pairs with left_row? −1 does where nothing else matches.
inline bool left_join_pairs(const PlainJoin& join, const PlainEdge& edge, int left_row, int right_row) {
    if (right_row >= 0) return edge_matches(edge, left_row, right_row);
    for (int row = 0; row < join.tables[static_cast<size_t>(edge.right)].rows; row++)
        if (edge_matches(edge, left_row, row)) return false;
    return true;
}

inline bool extends(const PlainJoin& join, const Tuple& tuple, size_t last) {
    for (size_t t = 0; t <= last; t++)
        if (!keys_match(join, t, tuple[t], last, tuple[last])) return false;
    for (const PlainEdge& edge : join.edges) {
        const auto left = static_cast<size_t>(edge.left), right = static_cast<size_t>(edge.right);
        if (std::max(left, right) == last && !left_join_pairs(join, edge, tuple[left], tuple[right])) return false;
    }
    return true;
}

// Every row of the join, in lexicographic order of the row numbers (null rows first).
inline std::vector<Tuple> brute_force(const PlainJoin& join) {
    std::vector<Tuple> rows;
    std::vector<bool> is_right(join.tables.size(), false);
    for (const PlainEdge& edge : join.edges) is_right[static_cast<size_t>(edge.right)] = true;
    Tuple tuple(join.tables.size());
    const std::function<void(size_t)> place = [&](size_t table) {
        if (table == join.tables.size()) {
            rows.push_back(tuple);
            return;
        }
        for (int row = is_right[table] ? -1 : 0; row < join.tables[table].rows; row++) {
            tuple[table] = row;
            if (extends(join, tuple, table)) place(table + 1);
        }
    };
    place(0);
    return rows;
}

struct RandomShape {
    int min_tables = 1, max_tables = 6;
    int max_rows = 9;
    double left_join = 0.3, second_column = 0.1, null = 0.08, empty_table = 0.04;
    bool signed_factors = true;
    int pool = 0; // when not 0, most tables have two or three of so few attributes: most joins are cyclic then
};

inline constexpr RandomShape cyclic_shape{.min_tables = 4,
                                          .max_tables = 6,
                                          .max_rows = 10,
                                          .left_join = 0.15,
                                          .second_column = 0.03,
                                          .null = 0.03,
                                          .empty_table = 0.01,
                                          .pool = 5};

// A random join: tables hang on earlier ones by some of their attributes or by a left join, then are shuffled.
class JoinMaker {
  public:
    JoinMaker(uint64_t seed, const RandomShape& shape) : random_(seed), shape_(shape) {}

    PlainJoin make() {
        const int count = shape_.min_tables + random_.below(shape_.max_tables + 1 - shape_.min_tables);
        for (int t = 0; t < count; t++) add_table(t);
        shuffle();
        return std::move(join_);
    }

  private:
    // Some attributes have keys far apart, up to the greatest one, so that codes must be hashed.
    Key draw_key(int attribute) {
        if (random_.chance(shape_.null)) return null_key;
        const int key = random_.below(1 + attribute % 4);
        return attribute % 3 == 0 ? null_key - 1 - static_cast<Key>(key) * 1'000'003 : static_cast<Key>(key);
    }

    Column draw_column(int attribute, int rows) {
        Column column;
        for (int row = 0; row < rows; row++) column.push_back(draw_key(attribute));
        return column;
    }

    void add_table(int number) {
        PlainTable table;
        table.rows = random_.chance(shape_.empty_table) ? 0 : 1 + random_.below(shape_.max_rows);
        std::set<int> attributes;
        const int on = number == 0 ? -1 : random_.below(number);
        const bool by_left_join = on >= 0 && random_.chance(shape_.left_join);
        if (on >= 0 && !by_left_join && shape_.pool == 0)
            for (int attribute : join_.tables[static_cast<size_t>(on)].attributes)
                if (random_.chance(0.7)) attributes.insert(attribute);
        const bool from_pool = shape_.pool > 0;
        for (int i = !from_pool ? 0 : by_left_join ? random_.below(2) : 2 + random_.below(8) / 7; i > 0; i--)
            attributes.insert(random_.below(shape_.pool));
        for (int i = random_.below(from_pool ? 2 : 4); i > 0; i--) attributes.insert(shape_.pool + next_attribute_++);
        for (int attribute : attributes) {
            table.attributes.push_back(attribute);
            table.keys.push_back(draw_column(attribute, table.rows));
            if (random_.chance(shape_.second_column)) add_second_column(table);
        }
        for (int row = 0; row < table.rows; row++)
            table.factors.push_back((random_.below(9) - (shape_.signed_factors ? 4 : 0)) * 0.5);
        join_.tables.push_back(std::move(table));
        if (by_left_join) add_edge(on, number);
    }

    void add_second_column(PlainTable& table) {
        table.attributes.push_back(table.attributes.back());
        Column second = table.keys.back();
        for (Key& key : second)
            if (random_.chance(0.2)) key = draw_key(table.attributes.back());
        table.keys.push_back(second);
    }

    void add_edge(int left, int right) {
        PlainEdge edge{left, right, {}, {}};
        for (int i = random_.below(4); i > 0; i--) {
            const int domain = random_.below(12);
            edge.left_keys.push_back(draw_column(domain, join_.tables[static_cast<size_t>(left)].rows));
            edge.right_keys.push_back(draw_column(domain, join_.tables[static_cast<size_t>(right)].rows));
        }
        join_.edges.push_back(edge);
    }

    void shuffle() {
        std::vector<int> place(join_.tables.size());
        for (size_t t = 0; t < place.size(); t++) place[t] = static_cast<int>(t);
        for (size_t t = place.size(); t > 1; t--)
            std::swap(place[t - 1], place[static_cast<size_t>(random_.below(static_cast<int>(t)))]);
        std::vector<PlainTable> shuffled(join_.tables.size());
        for (size_t t = 0; t < place.size(); t++) shuffled[static_cast<size_t>(place[t])] = std::move(join_.tables[t]);
        join_.tables = std::move(shuffled);
        for (PlainEdge& edge : join_.edges) {
            edge.left = place[static_cast<size_t>(edge.left)];
            edge.right = place[static_cast<size_t>(edge.right)];
        }
        std::reverse(join_.edges.begin(), join_.edges.end()); // inner edges first
    }

    Random random_;
    RandomShape shape_;
    PlainJoin join_;
    int next_attribute_ = 0;
};

inline PlainJoin random_join(uint64_t seed, const RandomShape& shape = {}) {
    return JoinMaker(seed, shape).make();
}

inline Buffer<Key> key_buffer(const Column& column, MemoryBudget& memory) {
    Buffer<Key> buffer(memory, "a test's keys", column.size());
    std::copy(column.begin(), column.end(), buffer.begin());
    return buffer;
}

// What the null row of table t has in the columns "row" (a number) and "code" (a category).
inline constexpr double null_row = -1;
inline constexpr uint32_t null_row_code = 777;

// Columns: 0 "row", the number of the row as made; 1 "code", the same as a category; 2 "factor".
inline Table columnar(const PlainTable& plain, int number, MemoryBudget& memory) {
    Table table;
    table.name = format("t%d", number);
    table.rows = static_cast<uint64_t>(plain.rows);
    for (size_t i = 0; i < plain.keys.size(); i++)
        table.keys.push_back({plain.attributes[i], key_buffer(plain.keys[i], memory)});
    const auto column = [&](const char* name, DataColumn::Kind kind) -> DataColumn& {
        table.columns.push_back({name, kind, Buffer<double>(memory, "a test"), Buffer<uint32_t>(memory, "a test"), {}});
        return table.columns.back();
    };
    DataColumn& row_column = column("row", DataColumn::Kind::number);
    row_column.null_row_number = null_row;
    for (int row = 0; row < plain.rows; row++) row_column.numbers.push_back(row);
    DataColumn& code = column("code", DataColumn::Kind::category);
    code.null_row_code = null_row_code;
    for (int row = 0; row < plain.rows; row++) code.codes.push_back(static_cast<uint32_t>(row));
    DataColumn& factor = column("factor", DataColumn::Kind::number);
    factor.null_row_number = 1.5;
    for (double value : plain.factors) factor.numbers.push_back(value);
    if (!plain.content.empty() || plain.rows == 0) {
        table.content.emplace(memory, "a test's contents", plain.content.size());
        std::copy(plain.content.begin(), plain.content.end(), table.content->begin());
    }
    return table;
}

inline Join columnar(const PlainJoin& plain, RunContext& context) {
    std::vector<Table> tables;
    for (size_t t = 0; t < plain.tables.size(); t++)
        tables.push_back(columnar(plain.tables[t], static_cast<int>(t), context.memory()));
    std::vector<LeftJoin> edges;
    for (const PlainEdge& plain_edge : plain.edges) {
        LeftJoin edge{plain_edge.left, plain_edge.right, {}, {}};
        for (const Column& keys : plain_edge.left_keys) edge.left_keys.push_back(key_buffer(keys, context.memory()));
        for (const Column& keys : plain_edge.right_keys) edge.right_keys.push_back(key_buffer(keys, context.memory()));
        edges.push_back(std::move(edge));
    }
    return Join(std::move(tables), std::move(edges), context);
}

// Rows of the join that each row of the table takes part in.
inline Buffer<uint64_t> counts_by_row(const Join& join, int table, RunContext& context) {
    return InsideOut<Counting, NoFactors<Counting>>(join, table, {}, context).values();
}

// The row as made of a row that is left in the join.
inline int original_row(const Join& join, int table, uint64_t row) {
    return static_cast<int>(join.tables()[static_cast<size_t>(table)].columns[0].numbers[row]);
}

inline double factor_of(const PlainJoin& plain, size_t table, int row) {
    return row < 0 ? 1.5 : plain.tables[table].factors[static_cast<size_t>(row)];
}

} // namespace btml::relational::test
