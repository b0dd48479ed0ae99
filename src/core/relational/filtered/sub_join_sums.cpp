#include "core/relational/filtered/sub_join_sums.hpp"

#include "core/base/worker_contexts.hpp"

namespace btml::relational {

namespace {

constexpr const char* what_sums = "sums over a sub-join";
constexpr uint64_t steps_of_row = 3, steps_of_key = 10;
constexpr size_t none = SIZE_MAX;

} // namespace

SubJoinSums::OfTable::OfTable(MemoryBudget& memory)
    : weights(memory, what_sums),
      moments(memory, what_sums),
      factors(memory, what_sums),
      found(memory, what_sums),
      up(memory, what_sums),
      down(memory, what_sums) {}

SubJoinSums::SubJoinSums(const SubJoin& sub_join)
    : sub_join_(sub_join), partial_(filtered().context.memory(), what_sums) {
    update();
}

void SubJoinSums::update() {
    if (held_ != sub_join_.held().size()) direct_edges();
    held_ = sub_join_.held().size();
    for (const size_t t : sub_join_.held()) {
        OfTable& table = tables_[t];
        const uint64_t classes = sub_join_.classes(t).count();
        table.weights.resize(is_value_table(t) ? 0 : classes);
        table.moments.resize(is_value_table(t) ? classes : 0);
        table.factors.resize(classes);
        table.found.resize(classes);
    }
    for (const size_t t : others_) {
        OfTable& table = tables_[t];
        table.weights.resize(filtered().table(t).groups());
        table.up.resize(filtered().table(t).edges[table.toward].keys);
        table.down.resize(table.up.size());
    }
    cut_into_chunks();
}

void SubJoinSums::direct_edges() {
    tables_.clear();
    others_.clear();
    for (size_t t = 0; t < filtered().tables(); t++) tables_.emplace_back(filtered().context.memory());
    std::vector<size_t> reached = sub_join_.held();
    for (size_t i = 0; i < reached.size(); i++) {
        const size_t t = reached[i];
        const std::vector<GroupedTable::Edge>& edges = filtered().table(t).edges;
        for (size_t e = 0; e < edges.size(); e++) {
            const bool is_back = !sub_join_.holds(t) && e == tables_[t].toward;
            if (is_back || sub_join_.holds(edges[e].neighbour)) continue;
            tables_[t].away.push_back(e);
            tables_[edges[e].neighbour].toward = edges[e].reverse;
            others_.push_back(edges[e].neighbour);
            reached.push_back(edges[e].neighbour);
        }
    }
}

// Chunks do not depend on the number of threads, so that neither does the order of sums. Where the cells of a chunk
// have few of a table's classes its sums take little memory, and there may be many chunks.
void SubJoinSums::cut_into_chunks() {
    constexpr uint64_t min_cells = uint64_t{1} << 13, max_chunks = 64;
    uint64_t classes = 0;
    for (const size_t t : sub_join_.held()) classes += sub_join_.classes(t).count();
    uint64_t chunks = 1;
    while (2 * chunks <= max_chunks && 2 * chunks * min_cells <= sub_join_.cells()) chunks *= 2;
    chunks_.clear();
    for (uint64_t i = 0; i < chunks; i++)
        chunks_.push_back(chunk_of(sub_join_.cells() * i / chunks, sub_join_.cells() * (i + 1) / chunks));
    while (place_sums() > 2 * classes + 1024 && chunks_.size() > 1) {
        std::vector<Chunk> joined;
        for (size_t i = 0; i < chunks_.size(); i += 2) joined.push_back(both(chunks_[i], chunks_[i + 1]));
        chunks_ = std::move(joined);
    }
}

SubJoinSums::Chunk SubJoinSums::chunk_of(uint64_t begin, uint64_t end) const {
    Chunk chunk{begin, end, {}};
    for (const Buffer<uint32_t>& column : sub_join_.columns()) {
        Chunk::Classes classes{UINT32_MAX, 0, 0};
        filtered().context.for_each(end - begin, 1, [&](uint64_t i) {
            classes.first = std::min(classes.first, column[begin + i]);
            classes.last = std::max(classes.last, column[begin + i]);
        });
        chunk.classes.push_back(classes);
    }
    return chunk;
}

SubJoinSums::Chunk SubJoinSums::both(const Chunk& a, const Chunk& b) {
    Chunk both{a.begin, b.end, {}};
    for (size_t c = 0; c < a.classes.size(); c++)
        both.classes.push_back(
            {std::min(a.classes[c].first, b.classes[c].first), std::max(a.classes[c].last, b.classes[c].last), 0});
    return both;
}

// Returns how many sums there are.
uint64_t SubJoinSums::place_sums() {
    uint64_t sums = 0;
    for (Chunk& chunk : chunks_)
        for (Chunk::Classes& classes : chunk.classes) {
            classes.at = sums;
            sums += classes.count();
        }
    return sums;
}

void SubJoinSums::ask(const std::vector<Target>& to) {
    for (size_t t = 0; t < tables_.size(); t++) {
        tables_[t].is_asked = !to.empty() && to[t].is_asked();
        tables_[t].is_asked_below = false;
    }
    const auto look = [&](size_t t) {
        for (const size_t e : tables_[t].away)
            tables_[t].is_asked_below |= needs(filtered().table(t).edges[e].neighbour);
    };
    for (size_t i = others_.size(); i-- > 0;) look(others_[i]);
    for (const size_t t : sub_join_.held()) look(t);
}

static double weight_of(const kernels::GroupRows& rows) {
    if (!rows.weights) return static_cast<double>(rows.count);
    double sum = 0;
    for_each_row(rows, [&](RowId row) { sum += rows.weights[row]; });
    return sum;
}

void SubJoinSums::weigh_groups(const Selection& selection, size_t t) {
    Buffer<double>& weights = tables_[t].weights;
    for_ranges(filtered().team, weights.size(), filtered().table(t).rows, [&](uint64_t begin, uint64_t end, int) {
        for (uint64_t g = begin; g < end; g++) weights[g] = weight_of(filtered().selected(selection, t, g));
    });
}

// The moments of a number, or none where that has no weight and may be anything.
static SubJoinSums::Moments moments_of(double weight, double number) {
    if (weight == 0) return {};
    return {weight, weight * number, weight * number * number};
}

void SubJoinSums::weigh_classes(const Selection& selection, size_t t) {
    OfTable& table = tables_[t];
    const RowClasses& classes = sub_join_.classes(t);
    const Buffer<double>&values = filtered().values, &centers = sub_join_.centers();
    for_ranges(filtered().team, classes.runs(), steps_of_row * filtered().table(t).rows,
               [&](uint64_t begin, uint64_t end, int) {
                   const uint32_t first = classes.first_class(begin), count = classes.first_class(end) - first;
                   if (is_value_table(t))
                       std::fill_n(table.moments.data() + first, count, Moments{});
                   else
                       std::fill_n(table.weights.data() + first, count, 0.0);
                   for (uint64_t g = classes.first_group(begin); g < classes.first_group(end); g++) {
                       const kernels::GroupRows rows = filtered().selected(selection, t, g);
                       for_each_row(rows, [&](RowId row) {
                           const uint32_t number = classes.of(row);
                           const double weight = rows.weights ? rows.weights[row] : 1;
                           if (is_value_table(t))
                               table.moments[number] += moments_of(weight, values[row] - centers[number]);
                           else
                               table.weights[number] += weight;
                       });
                   }
               });
}

// What the tables away from the sub-join have for a group's keys, but one edge's.
double SubJoinSums::product_from_away(size_t t, uint64_t group, size_t left_out) const {
    double product = 1;
    for (const size_t e : tables_[t].away) {
        if (e == left_out) continue;
        const GroupedTable::Edge& edge = filtered().table(t).edges[e];
        product *= tables_[edge.neighbour].up[edge.key[group]];
    }
    return product;
}

void SubJoinSums::send_up(size_t t) {
    OfTable& table = tables_[t];
    const GroupedTable::Edge& edge = filtered().table(t).edges[table.toward];
    for_ranges(filtered().team, edge.keys, steps_of_key * table.weights.size(), [&](uint64_t begin, uint64_t end, int) {
        for (uint64_t key = begin; key < end; key++) {
            double sum = 0;
            for (RowId i = edge.first[key]; i < edge.first[key + 1]; i++)
                sum += table.weights[edge.group(i)] * product_from_away(t, edge.group(i), none);
            table.up[key] = sum;
        }
    });
}

void SubJoinSums::find_factors(size_t t) {
    OfTable& table = tables_[t];
    const RowClasses& classes = sub_join_.classes(t);
    for_ranges(filtered().team, classes.runs(), steps_of_key * classes.runs(), [&](uint64_t begin, uint64_t end, int) {
        for (uint64_t run = begin; run < end; run++) {
            const double away = product_from_away(t, classes.first_group(run), none);
            for (uint32_t i = classes.first_class(run); i < classes.first_class(run + 1); i++)
                table.factors[i] = is_value_table(t) ? away : away * table.weights[i];
        }
    });
}

void SubJoinSums::send_all_up(const Selection& selection) {
    for (size_t i = others_.size(); i-- > 0;) {
        weigh_groups(selection, others_[i]);
        send_up(others_[i]);
    }
    for (const size_t t : sub_join_.held()) {
        weigh_classes(selection, t);
        find_factors(t);
    }
}

void SubJoinSums::sum_chunk(const Chunk& chunk, RunContext& context) {
    const size_t columns = chunk.classes.size();
    const OfTable& of_values = tables_[sub_join_.held()[0]];
    std::vector<const uint32_t*> column(columns);
    std::vector<const double*> factors(columns);
    std::vector<double> after(columns + 1, 1); // of each column, the product of the factors from there on
    for (size_t c = 0; c < columns; c++) {
        column[c] = sub_join_.columns()[c].data();
        factors[c] = tables_[sub_join_.held()[c]].factors.data();
        std::fill_n(partial_.data() + chunk.classes[c].at, chunk.classes[c].count(), Moments{});
    }
    const auto sum_of = [&](size_t c, uint32_t number) -> Moments& {
        return partial_[chunk.classes[c].at + (number - chunk.classes[c].first)];
    };
    context.for_each(chunk.end - chunk.begin, 1, [&](uint64_t i) {
        const uint64_t cell = chunk.begin + i;
        for (size_t c = columns; c-- > 1;) after[c] = after[c + 1] * factors[c][column[c][cell]];
        if (columns > 1 && after[1] == 0) return;
        const uint32_t of_value = column[0][cell];
        const Moments residual = moments_of(1, sub_join_.residuals()[cell]);
        sum_of(0, of_value) += after[1] * residual;
        if (columns == 1) return;
        const Moments of_rows = factors[0][of_value] * (of_values.moments[of_value] * residual);
        double before = 1;
        for (size_t c = 1; c < columns; c++) {
            const uint32_t number = column[c][cell];
            sum_of(c, number) += before * after[c + 1] * of_rows;
            before *= factors[c][number];
        }
    });
}

void SubJoinSums::add_chunks(size_t column) {
    Buffer<Moments>& found = tables_[sub_join_.held()[column]].found;
    for_ranges(filtered().team, found.size(), found.size() * 4, [&](uint64_t begin, uint64_t end, int) {
        std::fill(found.begin() + begin, found.begin() + end, Moments{});
        for (const Chunk& chunk : chunks_) {
            const Chunk::Classes& classes = chunk.classes[column];
            const uint64_t from = std::max<uint64_t>(begin, classes.first);
            const uint64_t until = std::min<uint64_t>(end, classes.first + classes.count());
            for (uint64_t i = from; i < until; i++) found[i] += partial_[classes.at + i - classes.first];
        }
    });
}

void SubJoinSums::sum_cells() {
    const Chunk::Classes& last = chunks_.back().classes.back();
    partial_.resize(last.at + last.count());
    WorkerContexts contexts(filtered().context, filtered().team.size(), 0, what_sums);
    filtered().team.for_each(
        chunks_.size(),
        [&](size_t i, int worker) {
            contexts.run(worker, [&](RunContext& context) { sum_chunk(chunks_[i], context); });
        },
        [&] { contexts.poll(); });
    for (size_t c = 0; c < sub_join_.held().size(); c++) add_chunks(c);
}

// Over the selected rows of a class and of the sub-join's other tables.
SubJoinSums::Moments SubJoinSums::of_class(size_t t, uint32_t number) const {
    const OfTable& table = tables_[t];
    return is_value_table(t) ? table.moments[number] * table.found[number]
                             : table.weights[number] * table.found[number];
}

void SubJoinSums::send_down(size_t t, size_t e) {
    const OfTable& table = tables_[t];
    const GroupedTable& grouped = filtered().table(t);
    const GroupedTable::Edge& edge = grouped.edges[e];
    Buffer<Moments>& down = tables_[edge.neighbour].down;
    const auto of_group = [&](RowId group) {
        if (!sub_join_.holds(t)) return table.weights[group] * table.down[grouped.edges[table.toward].key[group]];
        Moments sum;
        const RowClasses& classes = sub_join_.classes(t);
        if (const auto run = classes.run_from(group))
            for (uint32_t i = classes.first_class(*run); i < classes.first_class(*run + 1); i++) sum += of_class(t, i);
        return sum;
    };
    const uint64_t steps = steps_of_key * (sub_join_.holds(t) ? sub_join_.classes(t).count() : grouped.groups());
    for_ranges(filtered().team, edge.keys, steps, [&](uint64_t begin, uint64_t end, int) {
        for (uint64_t key = begin; key < end; key++) {
            Moments sum;
            for (RowId i = edge.first[key]; i < edge.first[key + 1]; i++)
                sum += product_from_away(t, edge.group(i), e) * of_group(edge.group(i));
            down[key] = sum;
        }
    });
}

void SubJoinSums::write_held(const Selection& selection, size_t t, const Target& to) {
    const OfTable& table = tables_[t];
    const RowClasses& classes = sub_join_.classes(t);
    const Buffer<double>&values = filtered().values, &centers = sub_join_.centers();
    for_ranges(filtered().team, filtered().table(t).groups(), steps_of_row * filtered().table(t).rows,
               [&](uint64_t begin, uint64_t end, int) {
                   for (uint64_t g = begin; g < end; g++) {
                       const double away = product_from_away(t, g, none);
                       const kernels::GroupRows rows = filtered().selected(selection, t, g);
                       for_each_row(rows, [&](RowId row) {
                           const uint32_t number = classes.of(row);
                           const double weight = (rows.weights ? rows.weights[row] : 1) * away;
                           const Moments& found = table.found[number];
                           to.write(row, is_value_table(t) ? moments_of(weight, values[row] - centers[number]) * found
                                                           : weight * found);
                       });
                   }
               });
}

void SubJoinSums::write_other(const Selection& selection, size_t t, const Target& to) {
    const OfTable& table = tables_[t];
    const GroupedTable& grouped = filtered().table(t);
    for_ranges(filtered().team, grouped.groups(), steps_of_row * grouped.rows, [&](uint64_t begin, uint64_t end, int) {
        for (uint64_t g = begin; g < end; g++) {
            const Moments found = product_from_away(t, g, none) * table.down[grouped.edges[table.toward].key[g]];
            const kernels::GroupRows rows = filtered().selected(selection, t, g);
            for_each_row(rows, [&](RowId row) { to.write(row, (rows.weights ? rows.weights[row] : 1) * found); });
        }
    });
}

void SubJoinSums::write(const Selection& selection, const std::vector<Target>& to) {
    ask(to);
    send_all_up(selection);
    sum_cells();
    const auto pass_on = [&](size_t t) {
        for (const size_t e : tables_[t].away)
            if (needs(filtered().table(t).edges[e].neighbour)) send_down(t, e);
    };
    for (const size_t t : sub_join_.held()) {
        pass_on(t);
        if (tables_[t].is_asked) write_held(selection, t, to[t]);
    }
    for (const size_t t : others_) {
        pass_on(t);
        if (tables_[t].is_asked) write_other(selection, t, to[t]);
    }
}

SubJoinSums::Moments SubJoinSums::total(const Selection& selection) {
    ask({});
    send_all_up(selection);
    sum_cells();
    const size_t t = sub_join_.held()[0];
    Moments total;
    const RowClasses& classes = sub_join_.classes(t);
    filtered().context.for_each(classes.count(), 2, [&](uint64_t i) {
        const auto number = static_cast<uint32_t>(i);
        total += tables_[t].factors[i] * of_class(t, number);
    });
    return total;
}

} // namespace btml::relational
