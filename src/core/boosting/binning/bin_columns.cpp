#include "core/boosting/binning/bin_columns.hpp"

#include "core/base/pieces.hpp"

namespace btml::boosting {

Columns::Columns(const BinnedData& data, uint64_t room, ThreadTeam& team, RunContext& context)
    : data_(data), room_(room), team_(team) {
    for (size_t f = 0; f < data.features.size(); f++) columns_.push_back({0, {context.memory(), "columns of bins"}});
}

const uint8_t* Columns::find(size_t feature, uint64_t rows) {
    const FeatureBins& of = data_.features[feature];
    const BinGroup& group = data_.groups[of.group];
    if (group.bytes != 1) return nullptr;
    if (group.width == 1 && !data_.tables[group.table].ids()) return group.data.data();
    Column& column = columns_[feature];
    // Trees have grown since the room was measured, and will.
    const uint64_t room = std::min(room_, column.bins.budget().left() / 2);
    if (column.bins.empty() && column.rows_split >= data_.rows && room >= data_.rows) {
        room_ -= data_.rows;
        column.bins.resize(data_.rows);
        fill(of, column.bins);
    }
    column.rows_split += rows;
    return column.bins.data();
}

void Columns::fill(const FeatureBins& feature, Buffer<uint8_t>& bins) {
    const RowIds ids = data_.tables[feature.table].ids();
    with_bins(data_, feature, [&](const auto& bin_of) {
        for_each_row(team_, data_.rows, [&](size_t row, int) { bins[row] = static_cast<uint8_t>(bin_of(ids[row])); });
    });
}

} // namespace btml::boosting
