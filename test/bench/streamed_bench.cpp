// Streamed aggregates in the core alone: rows that find partners and add to a message, and joins of a graph's edges.
#include "core/numbers/rng.hpp"
#include "core/relational/streamed/aggregate.hpp"
#include "core/relational/streamed/join_decomposition.hpp"

#include <benchmark/benchmark.h>

#include <fstream>
#include <memory>

using namespace btml;
using namespace btml::relational;

namespace {

// Columns of integers in memory, without NULLs.
class ColumnSource : public RowSource {
  public:
    explicit ColumnSource(const std::vector<std::vector<int64_t>>& columns) : columns_(columns) {}
    void next(RowBatch& batch) override {
        const size_t left = columns_.front().size() - at_;
        batch.rows = static_cast<uint32_t>(std::min<size_t>(left, RowBatch::max_rows));
        for (size_t c = 0; c < columns_.size(); c++) {
            std::copy_n(columns_[c].begin() + static_cast<int64_t>(at_), batch.rows, batch.columns()[c].words);
            std::fill_n(batch.columns()[c].nulls, batch.rows, uint8_t{0});
        }
        at_ += batch.rows;
    }

  private:
    const std::vector<std::vector<int64_t>>& columns_;
    size_t at_ = 0;
};

using Columns = std::vector<std::vector<int64_t>>;

struct BenchJoin {
    StreamedPlan plan;
    std::vector<const Columns*> tables; // null for bags

    StreamedCell run(RunContext& context) const {
        std::vector<std::unique_ptr<ColumnSource>> sources;
        std::vector<RowSource*> pointers;
        for (const Columns* columns : tables) {
            sources.push_back(columns ? std::make_unique<ColumnSource>(*columns) : nullptr);
            pointers.push_back(sources.back().get());
        }
        StreamedAggregate aggregate(plan, pointers, context);
        aggregate.run();
        return aggregate.cell(0, 0);
    }
};

Columns random_columns(uint64_t rows, int64_t keys) {
    Columns columns(2, std::vector<int64_t>(rows));
    for (uint64_t row = 0; row < rows; row++) {
        columns[0][row] = static_cast<int64_t>(random_bits(1, 0, row) % static_cast<uint64_t>(keys));
        columns[1][row] = static_cast<int64_t>(row % 1000);
    }
    return columns;
}

// 1 million rows add a count and a sum to a message of so many keys.
void add_rows(benchmark::State& state) {
    const Columns columns = random_columns(1'000'000, state.range(0));
    BenchJoin join;
    StreamedTable& table = join.plan.tables.emplace_back();
    table.columns.assign(2, StreamedType::integer);
    table.groups = {0};
    table.queries = {{}, {CellKind::integer_sum, {1}, {}, {}, {}}};
    join.tables = {&columns};
    for (auto _ : state) {
        QuietContext context;
        benchmark::DoNotOptimize(join.run(context));
    }
    state.SetItemsProcessed(state.iterations() * 1'000'000);
}
BENCHMARK(add_rows)->Arg(10)->Arg(10'000)->Arg(500'000)->Unit(benchmark::kMillisecond);

// 1 million rows find their partner in a message of so many keys, and add up its count and sum.
void probe_rows(benchmark::State& state) {
    const Columns rows = random_columns(1'000'000, state.range(0));
    Columns keys(2);
    for (int64_t key = 0; key < state.range(0); key++) {
        keys[0].push_back(key);
        keys[1].push_back(key % 7);
    }
    BenchJoin join;
    join.plan.tables.resize(2);
    for (StreamedTable& table : join.plan.tables) table.columns.assign(2, StreamedType::integer);
    join.plan.tables[0].key = {0};
    join.plan.tables[0].queries = {{}, {CellKind::integer_sum, {1}, {}, {}, {}}};
    join.plan.tables[1].children = {{0, StreamedJoin::inner, {0}}};
    join.plan.tables[1].queries = {{CellKind::count, {}, {}, {}, {0}}, {CellKind::integer_sum, {1}, {}, {}, {1}}};
    join.tables = {&keys, &rows};
    for (auto _ : state) {
        QuietContext context;
        benchmark::DoNotOptimize(join.run(context));
    }
    state.SetItemsProcessed(state.iterations() * (1'000'000 + state.range(0)));
}
BENCHMARK(probe_rows)->Arg(10)->Arg(10'000)->Arg(500'000)->Unit(benchmark::kMillisecond);

// Edges of a graph: those of the file that BTML_BENCH_EDGES names (lines "from,to"), or drawn so that a few vertices
// have many.
Columns read_edges() {
    Columns edges(2);
    if (const char* path = std::getenv("BTML_BENCH_EDGES")) {
        std::ifstream file(path);
        char comma = 0;
        std::string rest;
        for (int64_t from = 0, to = 0; file >> from >> comma >> to; std::getline(file, rest)) {
            edges[0].push_back(from);
            edges[1].push_back(to);
        }
        return edges;
    }
    const auto vertex = [](uint64_t stream, uint64_t i) {
        const double u = random_unit(5, stream, i);
        return static_cast<int64_t>(3'000 * u * u * u);
    };
    for (uint64_t i = 0; i < 40'000; i++) {
        edges[0].push_back(vertex(0, i));
        edges[1].push_back(vertex(1, i));
    }
    return edges;
}

// The columns of a table, or a bag, with these attributes that hold some of them.
std::vector<int> columns_of(const std::vector<int>& attributes, const std::vector<int>& some) {
    std::vector<int> columns;
    for (int attribute : some)
        columns.push_back(
            static_cast<int>(std::find(attributes.begin(), attributes.end(), attribute) - attributes.begin()));
    return columns;
}

// Counts the rows of a natural join of copies of the edges, each with two attributes.
BenchJoin pattern_join(const std::vector<std::vector<int>>& pattern, const Columns& edges) {
    QuietContext context;
    const std::vector<double> sizes(pattern.size(), static_cast<double>(edges[0].size()));
    const JoinDecomposition found = decompose_join(pattern, sizes, -1, context);
    std::vector<std::vector<int>> attributes = pattern;
    attributes.insert(attributes.end(), found.bags.begin(), found.bags.end());
    std::vector<int> place(attributes.size());
    for (size_t i = 0; i < found.order.size(); i++) place[static_cast<size_t>(found.order[i])] = static_cast<int>(i);
    BenchJoin join;
    join.plan.tables.resize(attributes.size());
    join.tables.resize(attributes.size());
    if (!found.bags.empty()) join.plan.attributes.resize(attributes.size());
    for (size_t n = 0; n < attributes.size(); n++) {
        const bool bag = n >= pattern.size();
        const auto at = static_cast<size_t>(place[n]);
        StreamedTable& table = join.plan.tables[at];
        table.columns.assign(attributes[n].size(), StreamedType::integer);
        table.held = !bag && !found.bags.empty();
        join.tables[at] = bag ? nullptr : &edges;
        if (bag) join.plan.bags.push_back({place[n], attributes[n]});
        if (table.held) join.plan.attributes[at] = {{0, attributes[n][0]}, {1, attributes[n][1]}};
        const JoinTree::Node& node = found.nodes[n];
        if (node.parent < 0) continue;
        const auto parent = static_cast<size_t>(node.parent);
        table.key = columns_of(attributes[n], node.separator);
        join.plan.tables[static_cast<size_t>(place[parent])].children.push_back(
            {place[n], StreamedJoin::inner, columns_of(attributes[parent], node.separator)});
    }
    for (StreamedTable& table : join.plan.tables)
        table.queries.emplace_back().children.assign(table.children.size(), 0);
    return join;
}

void count_patterns(benchmark::State& state, const std::vector<std::vector<int>>& pattern) {
    const Columns edges = read_edges();
    const BenchJoin join = pattern_join(pattern, edges);
    double rows = 0;
    for (auto _ : state) {
        QuietContext context(static_cast<int>(state.range(0)));
        rows = static_cast<double>(join.run(context).integer);
    }
    state.counters["rows"] = rows;
}
BENCHMARK_CAPTURE(count_patterns, paths_of_3, {{0, 1}, {1, 2}, {2, 3}})
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(count_patterns, triangles, {{0, 1}, {1, 2}, {2, 0}})
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(count_patterns, cycles_of_4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}})
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(count_patterns, triangles_with_tails, {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 4}})
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

} // namespace
