#include "core/boosting/growing/histogram.hpp"

namespace btml::boosting {

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
        places[g] = features * bin_stride;
        features += data.groups[g].width;
    }
    size_t place = Records::rounded_up(features) * bin_stride;
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
    return Records::rounded_up(features) * bin_stride;
}

HistogramBuilder::HistogramBuilder(const BinnedData& data, const RowScores& scores, const RowIndex& index,
                                   Records* records, bool tallies, ThreadTeam& team, RunContext& context)
    : data_(data),
      scores_(scores),
      index_(index),
      records_(records),
      has_tallies_(tallies),
      team_(team),
      layout_(data.features, max_histogram_bins),
      places_(places_of_groups(data)) {
    for (const BinnedTable& table : data.tables) {
        sums_offsets_.push_back(sums_size_);
        if (may_aggregate(table, features_of(data, table), data.rows, team.size())) sums_size_ += table.rows;
    }
    for (int i = 0; i < team.size(); i++) {
        workers_.emplace_back(context);
        workers_.back().sums.resize(sums_size_, tallies);
        workers_.back().accumulators.resize(places_.back(), tallies);
        if (records_) workers_.back().packed = Buffer<int64_t>(context.memory(), "histograms", packed_places(data), 0);
    }
}

uint64_t HistogramBuilder::scratch_bytes(const BinnedData& data, bool tallies, int threads) {
    uint64_t sums = 0;
    for (const BinnedTable& table : data.tables)
        if (may_aggregate(table, features_of(data, table), data.rows, threads)) sums += table.rows;
    const uint64_t accumulators = places_of_groups(data).back();
    return (Scratch::elements(accumulators, tallies) + Scratch::elements(sums, tallies)) * sizeof(Stats) * threads;
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
            ActiveGroup active{g, {}};
            for (size_t slot = 0; slot < group.width; slot++)
                if (chosen[group.features[slot]]) active.slots.push_back(static_cast<uint8_t>(slot));
            if (active.slots.empty()) continue;
            table.features += active.slots.size();
            table.groups.push_back(std::move(active));
        }
        if (!table.groups.empty()) tables_.push_back(std::move(table));
    }
    records_are_stale_ = true;
}

// Has the records cover the features that are not summed up by table row, and returns what else a row is added to.
HistogramBuilder::ActiveTables HistogramBuilder::share_with_records() {
    std::vector<const FeatureBins*> held;
    ActiveTables rest;
    for (const ActiveTable& table : tables_) {
        if (table.aggregate) {
            rest.push_back(table);
            continue;
        }
        ActiveTable beside{table.table, 0, {}, false};
        for (const ActiveGroup& active : table.groups) {
            const BinGroup& group = data_.groups[active.group];
            if (Records::holds(group))
                for (const uint8_t slot : active.slots) held.push_back(&data_.features[group.features[slot]]);
            else
                beside.groups.push_back(active);
        }
        if (!beside.groups.empty()) rest.push_back(std::move(beside));
    }
    records_->select(held);
    return rest;
}

template <class Sums>
void HistogramBuilder::clear(Worker& worker, const ActiveTable& table) {
    for (const ActiveGroup& group : table.groups)
        for (const uint8_t slot : group.slots)
            std::fill_n(accumulators<Sums>(worker, group, slot), slot_size(group, slot), Sums{});
}

template <class Sums>
void HistogramBuilder::start(Worker& worker) {
    worker.used = true;
    for (const ActiveTable& table : tables_) {
        clear<Sums>(worker, table);
        if (table.aggregate && worker.summed)
            std::fill_n(sums_of<Sums>(worker, table), data_.tables[table.table].rows, Sums{});
    }
}

// Adds the block's rows to the histograms of one table's features; row i is row ids[i] of the table, or begin + i.
template <class Sums>
void HistogramBuilder::add_groups(Worker& worker, const ActiveTable& table, const uint32_t* ids, size_t begin,
                                  size_t count) {
    for (const ActiveGroup& active : table.groups) {
        const BinGroup& group = data_.groups[active.group];
        add_to_bins({.ids = ids,
                     .begin = begin,
                     .count = count,
                     .bins = group.data.data(),
                     .bytes = group.bytes,
                     .width = group.width,
                     .slots = active.slots.data(),
                     .features = active.slots.size()},
                    worker.rows<Sums>(), accumulators<Sums>(worker, active, 0));
    }
}

template <class Sums>
void HistogramBuilder::add_rows(Worker& worker, const ActiveTables& tables, const RowList& rows) {
    for (const ActiveTable& active : tables) {
        const BinnedTable& table = data_.tables[active.table];
        const uint32_t* const ids = table.ids() ? rows_of(table.ids().data(), rows, worker.ids) : rows.list;
        if (active.aggregate)
            // The rows of the table are bins of their own here.
            add_to_bins({.ids = nullptr,
                         .begin = 0,
                         .count = rows.count,
                         .bins = ids,
                         .bytes = sizeof(*ids),
                         .width = 1,
                         .slots = nullptr,
                         .features = 1},
                        worker.rows<Sums>(), sums_of<Sums>(worker, active));
        else
            add_groups<Sums>(worker, active, ids, rows.first, rows.count);
    }
}

// Adds the sums of some of a table's rows, over all workers, to this worker's histograms.
template <class Sums>
void HistogramBuilder::add_table_rows(Worker& worker, const ActiveTable& table, size_t begin, size_t end) {
    for (size_t first = begin; first < end; first += block_rows) {
        const size_t count = std::min(block_rows, end - first);
        Sums* const block = worker.rows<Sums>();
        std::fill_n(block, count, Sums{});
        for (Worker& other : workers_) {
            if (!other.summed) continue;
            const Sums* const sums = sums_of<Sums>(other, table) + first;
            for (size_t i = 0; i < count; i++) block[i] += sums[i];
        }
        add_groups<Sums>(worker, table, nullptr, first, count);
    }
}

// Calls add(place, sums) for every bin of every worker; the place is that of the layout.
template <class Sums, class Add>
void HistogramBuilder::merge(const Add& add) {
    for (Worker& worker : workers_) {
        if (!worker.used) continue;
        for (const ActiveTable& table : tables_)
            for (const ActiveGroup& active : table.groups)
                for (const uint8_t slot : active.slots) {
                    const size_t feature = data_.groups[active.group].features[slot];
                    const Sums* const from = accumulators<Sums>(worker, active, slot);
                    const size_t place = layout_.offset(static_cast<int>(feature));
                    for (size_t b = 0; b < data_.features[feature].size(); b++) add(place + b, from[b]);
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
    records_->unpack(packing_, worker.packed.data(), worker.accumulators.as<Stats>());
    worker.packed_rows = 0;
}

// Adds rows from their records; `more` to each.
template <class Sums>
void HistogramBuilder::add_records(Worker& worker, const RowList& rows, const Sums& more) {
    if (!records_->covers_any()) return;
    if (packing_.max_rows == 0) return records_->add(rows, more, worker.accumulators.as<Sums>());
    if (worker.packed_rows + rows.count > packing_.max_rows) unpack(worker);
    worker.packed_rows += rows.count;
    records_->add(rows, packing_, worker.packed.data());
}

// Adds all rows up, and `more` with each.
template <class Sums>
void HistogramBuilder::add_up(const RowSet& rows, const Sums& more) {
    choose_aggregates(rows);
    const bool by_records = choose_records(rows), writes_records = records_ && records_are_stale_;
    const ActiveTables tables = by_records ? share_with_records() : tables_;
    for (Worker& worker : workers_) worker.used = worker.summed = false;
    index_.for_each_list(rows, [&](const RowList& list, int w) {
        Worker& worker = workers_[w];
        if (!worker.used) {
            worker.summed = true;
            start<Sums>(worker);
        }
        Sums* const block = worker.rows<Sums>();
        if (writes_records || !tables.empty()) gather(list, block);
        if (writes_records) records_->write(list, block);
        if (by_records) add_records(worker, list, more);
        if (tables.empty()) return;
        if (NodeSums(more).total.hessian > 0)
            for (size_t i = 0; i < list.count; i++) block[i] += more;
        add_rows<Sums>(worker, tables, list);
    });
    records_are_stale_ = false;
    for (Worker& worker : workers_) unpack(worker);
    add_up_aggregates<Sums>();
}

// Adds what was summed up by table row.
template <class Sums>
void HistogramBuilder::add_up_aggregates() {
    for (const ActiveTable& table : tables_) {
        if (!table.aggregate) continue;
        // Records add what nobody reads to the features beside those that they cover.
        for (Worker& worker : workers_)
            if (worker.used) clear<Sums>(worker, table);
        for_pieces(team_, data_.tables[table.table].rows, [&](size_t begin, size_t end, int w) {
            Worker& worker = workers_[w];
            if (!worker.used) start<Sums>(worker);
            add_table_rows<Sums>(worker, table, begin, end);
        });
    }
}

void HistogramBuilder::build(const RowSet& rows, int packed_bits, Stats* out) {
    packing_ = Packing(scores_.gathered_bits());
    add_up<Stats>(rows, {0, packed_bits > 0 ? int64_t{1} << packed_bits : 0});
    std::fill_n(out, layout_.bins(), Stats{});
    merge<Stats>([=](size_t place, const Stats& sums) { out[place] += sums; });
}

void HistogramBuilder::build(const RowSet& rows, Stats* sums, Tally* tallies) {
    packing_ = Packing(64);
    add_up<NodeSums>(rows, {});
    std::fill_n(sums, layout_.bins(), Stats{});
    std::fill_n(tallies, layout_.bins(), Tally{});
    merge<NodeSums>([=](size_t place, const NodeSums& both) {
        sums[place] += both.total;
        tallies[place] += both.tally;
    });
}

} // namespace btml::boosting
