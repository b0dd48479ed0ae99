#include "core/boosting/histogram.hpp"

#include <cstring>

namespace btml::boosting {

namespace {

struct ByPosition {
    size_t begin;
    size_t operator()(size_t i) const { return begin + i; }
    static constexpr size_t ahead = 0; // the processor foresees these by itself
};

struct ById {
    const uint32_t* ids;
    size_t operator()(size_t i) const { return ids[i]; }
    static constexpr size_t ahead = 32;
};

// body(i) for 0 ≤ i < count; from(i) is an address that body(i) will read, asked for in time.
template <size_t Ahead, class From, class Body>
void for_each_foreseen(size_t count, const From& from, const Body& body) {
    size_t i = 0;
    if constexpr (Ahead > 0)
        for (; i + Ahead < count; i++) {
            __builtin_prefetch(from(i + Ahead));
            body(i);
        }
    for (; i < count; i++) body(i);
}

// Adds block[i] to the bins of row(i) in a group's first Width slots. The features' chains of loads and stores are
// independent of each other, which hides the time between a store to a bin and the next load of the same bin.
template <size_t Width, size_t Stride, class Row>
void add_all(const uint8_t* bins, const Stats* block, size_t count, Row row, Stats* out) {
    const auto line_of = [&](size_t i) { return bins + row(i) * Width; };
    for_each_foreseen<Row::ahead>(count, line_of, [&](size_t i) {
        const uint8_t* line = line_of(i);
        const Pair value = *reinterpret_cast<const Pair*>(block + i);
#pragma GCC unroll 8
        for (size_t slot = 0; slot < Width; slot++) *reinterpret_cast<Pair*>(out + slot * Stride + line[slot]) += value;
    });
}

template <size_t Count, size_t Stride, class Row>
void add_some(const uint8_t* bins, size_t width, const uint8_t* slots, const Stats* block, size_t count, Row row,
              Stats* out) {
    size_t offsets[Count];
    Stats* sums[Count];
    for (size_t s = 0; s < Count; s++) {
        offsets[s] = slots[s];
        sums[s] = out + slots[s] * Stride;
    }
    for (size_t i = 0; i < count; i++) {
        const uint8_t* line = bins + row(i) * width;
        const Pair value = *reinterpret_cast<const Pair*>(block + i);
#pragma GCC unroll 8
        for (size_t s = 0; s < Count; s++) *reinterpret_cast<Pair*>(sums[s] + line[offsets[s]]) += value;
    }
}

template <class Bin, class Row>
void add_single(const Bin* bins, const Stats* block, size_t count, Row row, Stats* out) {
    for (size_t i = 0; i < count; i++)
        *reinterpret_cast<Pair*>(out + bins[row(i)]) += *reinterpret_cast<const Pair*>(block + i);
}

} // namespace

static size_t features_of(const BinnedData& data, const BinnedTable& table) {
    size_t features = 0;
    for (const size_t group : table.groups) features += data.groups[group].width;
    return features;
}

// The features that records hold come first, as they stand in a record.
std::vector<size_t> HistogramBuilder::places_of_groups(const BinnedData& data) {
    std::vector<size_t> places(data.groups.size());
    size_t features = 0;
    for (size_t g = 0; g < data.groups.size(); g++) {
        if (!Records::holds(data.groups[g])) continue;
        places[g] = features * Records::stride;
        features += data.groups[g].width;
    }
    size_t place = Records::rounded_up(features) * Records::stride;
    for (size_t g = 0; g < data.groups.size(); g++) {
        if (Records::holds(data.groups[g])) continue;
        places[g] = place;
        place += max_histogram_bins;
    }
    places.push_back(place);
    return places;
}

size_t HistogramBuilder::packed_places(const BinnedData& data) {
    size_t features = 0;
    for (const BinGroup& group : data.groups)
        if (Records::holds(group)) features += group.width;
    return Records::rounded_up(features) * Records::stride;
}

HistogramBuilder::HistogramBuilder(const BinnedData& data, const RowScores& scores, const RowIndex& index,
                                   Records* records, ThreadTeam& team, RunContext& context)
    : data_(data),
      scores_(scores),
      index_(index),
      records_(records),
      team_(team),
      layout_(data.features, max_histogram_bins),
      places_(places_of_groups(data)) {
    for (const BinnedTable& table : data.tables) {
        sums_offsets_.push_back(sums_size_);
        if (may_aggregate(table, features_of(data, table), data.rows, team.size())) sums_size_ += table.rows;
    }
    for (int i = 0; i < team.size(); i++) {
        workers_.emplace_back(context);
        workers_.back().sums.resize(sums_size_);
        workers_.back().accumulators.resize(places_.back());
        if (records_) workers_.back().packed = Buffer<int64_t>(context.memory(), "histograms", packed_places(data), 0);
    }
}

uint64_t HistogramBuilder::scratch_bytes(const BinnedData& data, int threads) {
    uint64_t elements = places_of_groups(data).back();
    for (const BinnedTable& table : data.tables)
        if (may_aggregate(table, features_of(data, table), data.rows, threads)) elements += table.rows;
    return elements * sizeof(Stats) * threads;
}

uint64_t HistogramBuilder::packed_bytes(const BinnedData& data, int threads) {
    return packed_places(data) * sizeof(int64_t) * threads;
}

// Row by row costs one addition per feature. Through sums it is one per row, then for each table row one per feature,
// one per thread to merge and one to clear.
bool HistogramBuilder::may_aggregate(const BinnedTable& table, size_t features, uint64_t rows, int threads) {
    if (!table.ids() || features < 2) return false;
    return rows * (features - 1) > table.rows * (features + threads + 1);
}

size_t HistogramBuilder::slot_size(const ActiveGroup& group, size_t slot) const {
    return data_.features[data_.groups[group.group].features[slot]].size();
}

void HistogramBuilder::select(const std::vector<int>& features) {
    layout_.select(features);
    std::vector<bool> chosen(data_.features.size(), false);
    for (const int f : layout_.selected()) chosen[f] = true;
    tables_.clear();
    for (size_t t = 0; t < data_.tables.size(); t++) {
        ActiveTable table{t, 0, {}, false};
        for (const size_t g : data_.tables[t].groups) {
            const BinGroup& group = data_.groups[g];
            ActiveGroup active{g, {}, false};
            for (size_t slot = 0; slot < group.width; slot++)
                if (chosen[group.features[slot]]) active.slots.push_back(static_cast<uint8_t>(slot));
            if (active.slots.empty()) continue;
            active.all = active.slots.size() == group.width;
            table.features += active.slots.size();
            table.groups.push_back(std::move(active));
        }
        if (!table.groups.empty()) tables_.push_back(std::move(table));
    }
    records_are_stale_ = true;
}

// Has the records cover the features that are not summed up by table row, and returns what else a row is added to.
HistogramBuilder::ActiveTables HistogramBuilder::share_with_records() {
    std::vector<Records::Place> held;
    ActiveTables rest;
    for (const ActiveTable& table : tables_) {
        if (table.aggregate) {
            rest.push_back(table);
            continue;
        }
        ActiveTable beside{table.table, 0, {}, false};
        for (const ActiveGroup& active : table.groups)
            if (Records::holds(data_.groups[active.group]))
                for (const uint8_t slot : active.slots) held.push_back({active.group, slot});
            else
                beside.groups.push_back(active);
        if (!beside.groups.empty()) rest.push_back(std::move(beside));
    }
    records_->select(held);
    return rest;
}

void HistogramBuilder::clear(Worker& worker, const ActiveTable& table) {
    for (const ActiveGroup& group : table.groups)
        for (const uint8_t slot : group.slots)
            std::fill_n(accumulators(worker, group, slot), slot_size(group, slot), Stats{});
}

void HistogramBuilder::start(Worker& worker) {
    worker.used = true;
    for (const ActiveTable& table : tables_) {
        clear(worker, table);
        if (table.aggregate && worker.summed)
            std::fill_n(&worker.sums[sums_offsets_[table.table]], data_.tables[table.table].rows, Stats{});
    }
}

// Adds worker.block to the histograms of one table's features; ids as in build().
void HistogramBuilder::add_groups(Worker& worker, const ActiveTable& table, const uint32_t* ids, size_t begin,
                                  size_t count) {
    const auto add = [&](auto row) {
        for (const ActiveGroup& active : table.groups) {
            const BinGroup& group = data_.groups[active.group];
            Stats* out = accumulators(worker, active, 0);
            if (group.bytes == 2)
                add_single(group.bins<uint16_t>(), worker.block, count, row, out);
            else if (group.bytes == 4)
                add_single(group.bins<uint32_t>(), worker.block, count, row, out);
            else if (active.all)
                with_width(group.width, [&](auto width) {
                    add_all<width(), Records::stride>(group.bins<uint8_t>(), worker.block, count, row, out);
                });
            else
                with_width(active.slots.size(), [&](auto slots) {
                    add_some<slots(), Records::stride>(group.bins<uint8_t>(), group.width, active.slots.data(),
                                                       worker.block, count, row, out);
                });
        }
    };
    if (ids)
        add(ById{ids});
    else
        add(ByPosition{begin});
}

void HistogramBuilder::add_rows(Worker& worker, const ActiveTables& tables, const RowList& rows) {
    for (const ActiveTable& active : tables) {
        const BinnedTable& table = data_.tables[active.table];
        const uint32_t* ids = rows.list;
        if (table.ids() && !rows.list) ids = table.ids() + rows.first;
        if (table.ids() && rows.list) {
            const uint32_t* all = table.ids();
            for_each_foreseen<ById::ahead>(
                rows.count, [&](size_t i) { return all + rows.list[i]; },
                [&](size_t i) { worker.ids[i] = all[rows.list[i]]; });
            ids = worker.ids;
        }
        if (active.aggregate)
            add_single(ids, worker.block, rows.count, ByPosition{0}, &worker.sums[sums_offsets_[active.table]]);
        else
            add_groups(worker, active, ids, rows.first, rows.count);
    }
}

// Adds the sums of some of a table's rows, over all workers, to this worker's histograms.
void HistogramBuilder::add_table_rows(Worker& worker, const ActiveTable& table, size_t begin, size_t end) {
    for (size_t first = begin; first < end; first += block_rows) {
        const size_t count = std::min(block_rows, end - first);
        std::fill_n(worker.block, count, Stats{});
        for (const Worker& other : workers_) {
            if (!other.summed) continue;
            const Stats* sums = &other.sums[sums_offsets_[table.table] + first];
            for (size_t i = 0; i < count; i++) worker.block[i] += sums[i];
        }
        add_groups(worker, table, nullptr, first, count);
    }
}

void HistogramBuilder::merge(Pair* out) {
    std::fill_n(out, layout_.bins(), Pair{});
    for (Worker& worker : workers_) {
        if (!worker.used) continue;
        for (const ActiveTable& table : tables_)
            for (const ActiveGroup& active : table.groups)
                for (const uint8_t slot : active.slots) {
                    const size_t feature = data_.groups[active.group].features[slot];
                    const auto* from = reinterpret_cast<const Pair*>(accumulators(worker, active, slot));
                    Pair* to = out + layout_.offset(static_cast<int>(feature));
                    for (size_t b = 0; b < data_.features[feature].size(); b++) to[b] += from[b];
                }
    }
}

void HistogramBuilder::choose_aggregates(const RowSet& rows) {
    for (ActiveTable& table : tables_)
        table.aggregate = may_aggregate(data_.tables[table.table], table.features, rows.size(), team_.size());
}

// Says whether the node's rows are added from their records. The root's are, once they are written, where that takes
// half the memory. Other nodes are not, where their rows are next to each other and sums by table row save most
// additions; else no table is summed up by row.
bool HistogramBuilder::choose_records(const RowSet& rows) {
    constexpr size_t dense = 8; // one row of so many
    if (!records_) return false;
    if (records_are_stale_) return packing_.max_rows > 0;
    size_t features = 0, additions = 0;
    for (const ActiveTable& table : tables_) {
        features += table.features;
        additions += table.aggregate ? 1 : table.features;
    }
    if (rows.size() * dense >= data_.rows && additions * 3 <= features) return false;
    for (ActiveTable& table : tables_) table.aggregate = false;
    return true;
}

void HistogramBuilder::unpack(Worker& worker) {
    if (worker.packed_rows == 0) return;
    records_->unpack(packing_, worker.packed.data(), worker.accumulators.data());
    worker.packed_rows = 0;
}

// Adds rows from their records; `more` to each.
void HistogramBuilder::add_records(Worker& worker, const RowList& rows, Stats more) {
    if (!records_->covers_any()) return;
    if (packing_.max_rows == 0) return records_->add(rows, more, worker.accumulators.data());
    if (worker.packed_rows + rows.count > packing_.max_rows) unpack(worker);
    worker.packed_rows += rows.count;
    records_->add(rows, packing_, worker.packed.data());
}

void HistogramBuilder::build(const RowSet& rows, int packed_bits, Stats* out) {
    const int64_t count = packed_bits > 0 ? int64_t{1} << packed_bits : 0;
    packing_ = Packing(scores_.gathered_bits());
    choose_aggregates(rows);
    const bool by_records = choose_records(rows), writes_records = records_ && records_are_stale_;
    const ActiveTables tables = by_records ? share_with_records() : tables_;
    build(rows, out, [&](Worker& worker, const RowList& list) {
        if (writes_records || !tables.empty()) scores_.gather(list, worker.block);
        if (writes_records) records_->write(list, worker.block);
        if (by_records) add_records(worker, list, {0, count});
        if (tables.empty()) return;
        if (count > 0)
            for (size_t i = 0; i < list.count; i++) worker.block[i].hessian += count;
        add_rows(worker, tables, list);
    });
    records_are_stale_ = false;
}

void HistogramBuilder::build(const RowSet& rows, Tally* out) {
    choose_aggregates(rows);
    build(rows, out, [&](Worker& worker, const RowList& list) {
        scores_.gather_tallies(list, reinterpret_cast<Tally*>(worker.block));
        add_rows(worker, tables_, list);
    });
}

template <class Sums, class Add>
void HistogramBuilder::build(const RowSet& rows, Sums* out, const Add& add) {
    for (Worker& worker : workers_) worker.used = worker.summed = false;
    index_.for_each_list(rows, [&](const RowList& list, int w) {
        Worker& worker = workers_[w];
        if (!worker.used) {
            worker.summed = true;
            start(worker);
        }
        add(worker, list);
    });
    for (Worker& worker : workers_) unpack(worker);
    for (const ActiveTable& table : tables_) {
        if (!table.aggregate) continue;
        // Records add what nobody reads to the features beside those that they cover.
        for (Worker& worker : workers_)
            if (worker.used) clear(worker, table);
        for_pieces(team_, data_.tables[table.table].rows, [&](size_t begin, size_t end, int w) {
            Worker& worker = workers_[w];
            if (!worker.used) start(worker);
            add_table_rows(worker, table, begin, end);
        });
    }
    merge(reinterpret_cast<Pair*>(out));
}

} // namespace btml::boosting
