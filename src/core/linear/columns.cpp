#include "core/linear/columns.hpp"

#include <algorithm>

namespace btml::linear {

Columns::Columns(std::vector<Column> columns, std::vector<bool> categorical)
    : columns_(std::move(columns)), categorical_(std::move(categorical)) {
    if (columns_.size() > max_columns) refuse_columns();
    find_places();
}

void Columns::refuse_columns() const {
    const auto categories = static_cast<size_t>(std::count_if(
        columns_.begin(), columns_.end(), [](const Column& column) { return column.kind == ColumnKind::category; }));
    throw Error(ErrorCode::limit_exceeded,
                format("a linear model of these features has %zu columns, and at most %zu are possible",
                       columns_.size(), max_columns),
                "A column is a number, or a category but one of a feature.",
                2 * categories > columns_.size() ? "Leave out features of many categories."
                                                 : "Leave out features, or take fewer elements of arrays.");
}

void Columns::find_places() {
    by_place_.clear();
    places_.assign(columns_.size(), 0);
    for (const bool sparse : {false, true}) {
        for (uint32_t c = 0; c < columns_.size(); c++) {
            if (columns_[c].state != ColumnState::kept || categorical_[columns_[c].feature] != sparse) continue;
            by_place_.push_back(c);
            places_[c] = static_cast<uint32_t>(by_place_.size());
        }
        if (!sparse) dense_ = by_place_.size();
    }
}

void Columns::drop(const std::vector<size_t>& places) {
    for (const size_t place : places) columns_[number_at(place)].state = ColumnState::dependent;
    find_places();
}

std::vector<size_t> Columns::in_order() const {
    std::vector<size_t> order{0};
    for (const uint32_t place : places_)
        if (place > 0) order.push_back(place);
    return order;
}

} // namespace btml::linear
