// Inside-out for many queries at once: a message has a value of a ring, a number or a spectrum, for each of its keys
// and each distinct sub-query (see SubQueries). On the way up these are the sub-queries of the tables behind the
// message. On the way down the queries, times their coefficients, are added up as soon as they ask the same of the
// tables ahead, so that again there is one value for each sub-query of those.
#pragma once

#include "core/relational/filtered/sub_queries.hpp"

#include <functional>
#include <numeric>

namespace btml::relational {

// Which of an array's values belongs to each sub-query, and which sub-queries have it.
class Columns {
  public:
    // index: by sub-query; values: how many there are; width: the sub-queries filled up to whole lanes.
    Columns(std::vector<uint32_t> index, size_t values, size_t width)
        : index_(std::move(index)), order_(index_.size()), first_(values + 1, 0), same_(values == index_.size()) {
        for (size_t i = 0; i < index_.size(); i++) {
            first_[index_[i] + 1]++;
            same_ &= index_[i] == i;
        }
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
        for (size_t i = 0; i < index_.size(); i++) order_[next[index_[i]]++] = static_cast<uint32_t>(i);
        index_.resize(width, 0);
    }

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

// How many values a kernel takes at a time.
template <class Value>
constexpr size_t lanes_of = std::is_same_v<Value, double> ? kernels::lanes : 1;

template <class Value>
constexpr size_t filled_up(size_t count) {
    return (count + lanes_of<Value> - 1) / lanes_of<Value> * lanes_of<Value>;
}

template <class Value>
using Ring = std::conditional_t<std::is_same_v<Value, double>, SumProduct, Spectrum>;

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

    explicit SubQueryMessages(const FilteredJoin& filtered) : filtered_(filtered), scratch_(filtered.team.size()) {
        MemoryBudget& memory = filtered.context.memory();
        for (size_t t = 0; t < filtered.tables(); t++)
            tables_.push_back({0,
                               0,
                               {},
                               {},
                               find_twins(t),
                               Buffer<Value>(memory, what),
                               Buffer<Value>(memory, what),
                               Buffer<Value>(memory, what)});
    }

    // Bytes that the values for such queries take, and that those for one more take at most.
    static uint64_t bytes(const GroupedJoin& join, const SubQueries& queries) {
        uint64_t values = 0;
        for (const size_t t : join.order()) {
            const GroupedTable& table = join.tables()[t];
            const SubQueries::OfTable& asked = queries.table(t);
            const bool is_root = t == join.order()[0];
            if (is_root || !join.children(t).empty())
                values += table.groups() * filled_up<Value>(asked.conditions.size());
            if (!is_root) values += 2 * table.edges[0].keys * filled_up<Value>(asked.count());
        }
        return values * sizeof(Value);
    }
    static uint64_t bytes_per_query(const GroupedJoin& join) {
        uint64_t values = 1;
        for (const size_t t : join.order()) {
            const GroupedTable& table = join.tables()[t];
            const bool is_root = t == join.order()[0];
            if (is_root || !join.children(t).empty()) values += table.groups();
            if (!is_root) values += 2 * table.edges[0].keys;
        }
        return values * sizeof(Value);
    }

    // The queries to evaluate, and which groups take part; both are looked at until the next call.
    void set(const SubQueries& queries, const AliveGroups& alive) {
        alive_ = &alive;
        size_t max_conditions = 0, max_products = 0;
        for (size_t t = 0; t < filtered_.tables(); t++) {
            const SubQueries::OfTable& asked = queries.table(t);
            OfTable& table = of(t);
            table.width = filled_up<Value>(asked.count());
            table.conditions = filled_up<Value>(asked.conditions.size());
            table.own.assign(1, Columns(asked.own, asked.conditions.size(), table.width));
            table.below.clear();
            const std::span<const GroupedTable::Edge> children = filtered_.join.children(t);
            for (size_t c = 0; c < children.size(); c++)
                table.below.emplace_back(asked.children[c], queries.table(children[c].neighbour).count(), table.width);
            if (!is_leaf(t)) table.sums.resize(filtered_.table(t).groups() * table.conditions);
            if (!is_root(t)) {
                table.up.resize(filtered_.table(t).edges[0].keys * table.width);
                table.down.resize(filtered_.table(t).edges[0].keys * table.width);
            }
            max_conditions = std::max(max_conditions, table.conditions);
            max_products = std::max(max_products, table.width);
            for (const Children& twins : table.twins) max_products = std::max(max_products, table.width * twins.size());
        }
        coefficients_.assign(of(filtered_.join.order()[0]).width, Ring<Value>::zero());
        std::transform(queries.coefficients().begin(), queries.coefficients().end(), coefficients_.begin(),
                       Ring<Value>::of_factor);
        for (Scratch& scratch : scratch_) {
            scratch.conditions.assign(max_conditions, Ring<Value>::zero());
            scratch.products.assign(max_products, Ring<Value>::zero());
        }
    }
    void send_up(const Local& local) {
        const std::vector<size_t>& order = filtered_.join.order();
        for (size_t i = order.size(); i-- > 0;) {
            const size_t t = order[i];
            OfTable& table = of(t);
            if (!is_leaf(t))
                filtered_.for_each_alive(*alive_, t, local.steps(t), [&](uint64_t g, int worker) {
                    local.fill(t, g, table.sums.data() + g * table.conditions, worker);
                });
            if (i > 0) send_to_parent(t, local);
        }
    }
    // Returns the answer of each sub-query of the root, after send_up().
    std::vector<Value> totals() {
        const size_t root = filtered_.join.order()[0];
        OfTable& table = of(root);
        MemoryBudget& memory = filtered_.context.memory();
        GroupedTable::Edge all{
            0, 0, 1, Buffer<Key>(memory, what), Buffer<RowId>(memory, what), Buffer<RowId>(memory, what)};
        all.first.push_back(0);
        all.first.push_back(static_cast<RowId>(filtered_.table(root).groups()));
        std::vector<Value> sums(table.width, Ring<Value>::zero());
        if (all.first[1] > 0)
            run({root, all, table.width, steps(root), [&](uint64_t, int) { return sums.data(); },
                 [&](uint64_t group, int worker) {
                     Scratch& scratch = scratch_[worker];
                     add_factor(scratch, table.sums.data() + group * table.conditions, table.own[0]);
                     add_children(scratch, root, group, {});
                 },
                 [](uint64_t, const Value*) {}});
        return sums;
    }
    // Must come after send_up().
    void send_down() {
        for (const size_t t : filtered_.join.order())
            for (const Children& twins : of(t).twins) send_to_children(t, twins);
    }
    // After send_down(), by condition of the table: the queries' sum, times their coefficients, over the rows of the
    // other tables that a row of the group meets, of the queries with that condition. Until the worker's next call.
    const Value* factors(size_t t, uint64_t group, int worker) {
        Scratch& scratch = scratch_[worker];
        start(scratch);
        add_from_above(scratch, t, group);
        add_children(scratch, t, group, {});
        multiply(scratch, true, scratch.products.data(), of(t).width);
        of(t).own[0].add_up(scratch.products.data(), scratch.conditions.data());
        return scratch.conditions.data();
    }
    // About how many nanoseconds factors() takes for all groups.
    uint64_t steps(size_t t) const {
        const GroupedTable& table = filtered_.table(t);
        return table.groups() * (1 + of(t).width * (1 + table.edges.size()) * (sizeof(Value) / sizeof(double)));
    }

  private:
    static constexpr const char* what = "the messages of queries over a join";

    using Children = std::vector<size_t>; // of a table, by number
    struct OfTable {
        size_t width = 0;            // sub-queries, filled up to whole lanes
        size_t conditions = 0;       // filled up to whole lanes
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
    // Sums over the groups of each key: `target` says where a key's is, `collect` adds a group's factors to the
    // worker's scratch, and `finish` takes the sum of a key with groups that are alive.
    struct KeyLoop {
        size_t table;
        const GroupedTable::Edge& edge;
        size_t width; // of a sum
        uint64_t steps;
        std::function<Value*(uint64_t key, int worker)> target;
        std::function<void(uint64_t group, int worker)> collect;
        std::function<void(uint64_t key, const Value* sum)> finish;
    };

    const OfTable& of(size_t t) const { return tables_[t]; }
    OfTable& of(size_t t) { return tables_[t]; }
    bool is_root(size_t t) const { return t == filtered_.join.order()[0]; }
    bool is_leaf(size_t t) const { return !is_root(t) && of(t).below.empty(); }

    void start(Scratch& scratch) const {
        scratch.factors.clear();
        scratch.left_out.clear();
        scratch.is_scaled = false;
    }
    void add_factor(Scratch& scratch, const Value* values, const Columns& columns) const {
        if (!columns.is_single()) {
            scratch.factors.push_back({values, columns.index()});
            return;
        }
        scratch.scale = scratch.is_scaled ? Ring<Value>::multiply(scratch.scale, *values) : *values;
        scratch.is_scaled = true;
    }
    const Value* from_child(size_t t, uint64_t group, size_t child) const {
        const GroupedTable::Edge& edge = filtered_.join.children(t)[child];
        return of(edge.neighbour).up.data() + edge.key[group] * of(edge.neighbour).width;
    }
    // The messages of the children; several that are left out are so of one product each.
    void add_children(Scratch& scratch, size_t t, uint64_t group, const Children& left_out) const {
        const std::vector<Columns>& below = of(t).below;
        for (size_t c = 0; c < below.size(); c++) {
            const Value* const values = from_child(t, group, c);
            if (std::find(left_out.begin(), left_out.end(), c) == left_out.end())
                add_factor(scratch, values, below[c]);
            else if (left_out.size() > 1)
                scratch.left_out.push_back({values, below[c].index()});
        }
    }
    void add_from_above(Scratch& scratch, size_t t, uint64_t group) const {
        const Value* values = coefficients_.data();
        if (!is_root(t)) values = of(t).down.data() + filtered_.table(t).edges[0].key[group] * of(t).width;
        scratch.factors.push_back({values, nullptr});
    }
    void multiply(const Scratch& scratch, bool is_first, Value* out, size_t width) const {
        const Value* const scale = scratch.is_scaled ? &scratch.scale : nullptr;
        if (!scratch.left_out.empty())
            kernels::multiply_without_each(out, scale, scratch.factors, scratch.left_out, width, !is_first);
        else
            kernels::multiply(out, scale, scratch.factors, width, !is_first);
    }
    std::vector<Children> find_twins(size_t t) const {
        const std::span<const GroupedTable::Edge> children = filtered_.join.children(t);
        std::vector<Children> twins;
        for (size_t c = 0; c < children.size(); c++) {
            const auto place = std::find_if(twins.begin(), twins.end(), [&](const Children& others) {
                const Buffer<Key>& key = children[others[0]].key;
                return others.size() < kernels::max_left_out &&
                       std::equal(key.begin(), key.end(), children[c].key.begin());
            });
            if (place == twins.end())
                twins.push_back({c});
            else
                place->push_back(c);
        }
        return twins;
    }
    // Groups of one key are summed so many at a time, so that threads share a key of much work and nobody waits long
    // for one: pieces of about a millisecond, whose sums take little memory. The order of the sums depends on it, so
    // the number of threads has no say.
    uint64_t groups_of_piece(const KeyLoop& loop) const {
        constexpr uint64_t max_groups = 4096, max_steps = uint64_t{1} << 20, max_bytes = uint64_t{16} << 20;
        const uint64_t groups = loop.edge.first[loop.edge.keys];
        const uint64_t by_steps = groups * max_steps / (loop.steps + 1);
        const uint64_t by_memory = groups * loop.width * sizeof(Value) / max_bytes + 1;
        return std::max(by_memory, std::clamp<uint64_t>(by_steps, 1, max_groups));
    }
    bool add_groups(const KeyLoop& loop, Piece piece, Value* sum, int worker) {
        Scratch& scratch = scratch_[worker];
        const Buffer<uint8_t>& alive = (*alive_)[loop.table];
        bool is_first = true;
        for (RowId i = piece.begin; i < piece.end; i++) {
            const RowId group = loop.edge.group(i);
            if (!alive[group]) continue;
            start(scratch);
            loop.collect(group, worker);
            multiply(scratch, std::exchange(is_first, false), sum, of(loop.table).width);
        }
        return !is_first;
    }
    void run(const KeyLoop& loop) {
        const Buffer<RowId>& first = loop.edge.first;
        const size_t width = loop.width;
        const auto max_groups = static_cast<RowId>(groups_of_piece(loop));
        std::vector<Piece> pieces; // of the keys with too many groups for one, in their order
        for (uint64_t key = 0; key < loop.edge.keys; key++)
            for (RowId begin = first[key]; first[key + 1] - first[key] > max_groups && begin < first[key + 1];
                 begin += std::min(max_groups, first[key + 1] - begin))
                pieces.push_back({begin, begin + std::min(max_groups, first[key + 1] - begin)});
        Buffer<Value> parts(filtered_.context.memory(), what, pieces.size() * width);
        filtered_.team.for_each(pieces.size(), [&](size_t i, int worker) {
            Value* const part = parts.data() + i * width;
            if (!add_groups(loop, pieces[i], part, worker)) std::fill_n(part, width, Ring<Value>::zero());
        });
        const auto add_pieces = [&](Piece whole, Value* sum) {
            std::fill_n(sum, width, Ring<Value>::zero());
            auto piece = std::lower_bound(pieces.begin(), pieces.end(), whole.begin,
                                          [](const Piece& other, RowId begin) { return other.begin < begin; });
            for (; piece != pieces.end() && piece->begin < whole.end; ++piece)
                for (size_t q = 0; q < width; q++)
                    sum[q] = Ring<Value>::add(sum[q], parts[(piece - pieces.begin()) * width + q]);
        };
        for_ranges(filtered_.team, first[loop.edge.keys], loop.steps, [&](uint64_t begin, uint64_t end, int worker) {
            const RowId* const of_key = std::lower_bound(first.begin(), first.end() - 1, begin);
            for (uint64_t key = of_key - first.begin(); first[key] < end; key++) {
                Value* const sum = loop.target(key, worker);
                const Piece whole{first[key], first[key + 1]};
                if (whole.end - whole.begin > max_groups)
                    add_pieces(whole, sum);
                else if (!add_groups(loop, whole, sum, worker))
                    continue;
                loop.finish(key, sum);
            }
        });
    }
    void send_to_parent(size_t t, const Local& local) {
        OfTable& table = of(t);
        const auto collect = [&](uint64_t group, int worker) {
            Scratch& scratch = scratch_[worker];
            const Value* sums = scratch.conditions.data();
            if (is_leaf(t))
                local.fill(t, group, scratch.conditions.data(), worker);
            else
                sums = table.sums.data() + group * table.conditions;
            add_factor(scratch, sums, table.own[0]);
            add_children(scratch, t, group, {});
        };
        run({t, filtered_.table(t).edges[0], table.width, steps(t) + (is_leaf(t) ? local.steps(t) : 0),
             [&](uint64_t key, int) { return table.up.data() + key * table.width; }, collect,
             [](uint64_t, const Value*) {}});
    }
    // A message leaves out what its child sent: where several children have the same keys, all of them share the
    // products.
    void send_to_children(size_t t, const Children& twins) {
        OfTable& table = of(t);
        const std::span<const GroupedTable::Edge> children = filtered_.join.children(t);
        run({t, children[twins[0]], table.width * twins.size(), steps(t) * twins.size(),
             [&](uint64_t, int worker) { return scratch_[worker].products.data(); },
             [&](uint64_t group, int worker) {
                 Scratch& scratch = scratch_[worker];
                 add_from_above(scratch, t, group);
                 add_factor(scratch, table.sums.data() + group * table.conditions, table.own[0]);
                 add_children(scratch, t, group, twins);
             },
             [&](uint64_t key, const Value* sums) {
                 for (size_t i = 0; i < twins.size(); i++) {
                     OfTable& ahead = of(children[twins[i]].neighbour);
                     Value* const message = ahead.down.data() + key * ahead.width;
                     const Columns& columns = table.below[twins[i]];
                     columns.add_up(sums + i * table.width, message);
                     std::fill(message + columns.values(), message + ahead.width, Ring<Value>::zero());
                 }
             }});
    }

    const FilteredJoin filtered_;
    const AliveGroups* alive_ = nullptr;
    std::vector<OfTable> tables_;
    std::vector<Value> coefficients_; // by sub-query of the root
    std::vector<Scratch> scratch_;    // by thread
};

} // namespace btml::relational
