#include "core/linear/design.hpp"

#include "core/base/worker_contexts.hpp"

#include <algorithm>
#include <cmath>

namespace btml::linear {

namespace {

// Sums over the numbers of training rows that are not NULL.
struct NumberSums {
    double weight = 0, sum = 0, squares = 0; // of distances to some place
    double min = HUGE_VAL, max = -HUGE_VAL;
    uint64_t missing = 0;

    void operator+=(const NumberSums& other) {
        weight += other.weight;
        sum += other.sum;
        squares += other.squares;
        min = std::min(min, other.min);
        max = std::max(max, other.max);
        missing += other.missing;
    }
};

// repeats_of(row): 0 of rows that do not count.
template <class WeightOf, class RepeatsOf>
NumberSums sums_of(const FeatureColumn& column, RowIds ids, uint64_t rows, double place, const WeightOf& weight_of,
                   const RepeatsOf& repeats_of, RunContext& context) {
    NumberSums parts[4]; // side by side, since an addition waits for the one before it
    context.for_each(rows, 1, [&](uint64_t row) {
        NumberSums& sums = parts[row % 4];
        const double number = column.numbers[ids[row]];
        const uint64_t repeats = repeats_of(row);
        if (repeats == 0) return;
        if (is_null(number)) {
            sums.missing += repeats;
            return;
        }
        const double weight = weight_of(row), off = number - place;
        sums.weight += weight;
        sums.sum += weight * off;
        sums.squares += weight * off * off;
        sums.min = std::min(sums.min, number);
        sums.max = std::max(sums.max, number);
    });
    for (const NumberSums& part : std::span(parts).subspan(1)) parts[0] += part;
    return parts[0];
}

Column offset_of(const Column& number) {
    return {number.feature, ColumnKind::number, 0, ColumnState::offset, number.mean, 1, 1};
}

std::vector<bool> are_categorical(const std::vector<FeatureColumn>& features) {
    std::vector<bool> categorical;
    for (const FeatureColumn& feature : features) categorical.push_back(feature.categorical);
    return categorical;
}

} // namespace

Design::Design(OrderedRows rows, ThreadTeam& team, RunContext& context, bool has_offset)
    : rows_(std::move(rows)), has_offset_(has_offset), columns_(find_columns(team, context)) {
    find_categoricals();
}

Columns Design::find_columns(ThreadTeam& team, RunContext& context) {
    const size_t count = dataset().features.size();
    context.for_each(training(), 1, [&](uint64_t row) {
        weight_ += weight(row);
        count_ += repeats(row);
    });
    references_.resize(count);
    missing_.resize(count);
    std::vector<std::vector<Column>> found(count);
    for_each_item(team, count, context, [&](size_t f, RunContext& own) {
        if (dataset().features[f].categorical) return find_categories(f, found[f], own);
        Column number{static_cast<uint32_t>(f)}, missing{static_cast<uint32_t>(f), ColumnKind::missing};
        find_number(f, number, missing, own);
        found[f].push_back(number);
        if (missing_[f] > 0) found[f].push_back(missing);
    });
    if (has_offset_) found.back() = {offset_of(found.back().front())};
    std::vector<Column> columns;
    for (const std::vector<Column>& of_feature : found)
        columns.insert(columns.end(), of_feature.begin(), of_feature.end());
    return {std::move(columns), are_categorical(dataset().features)};
}

// The second pass takes distances to the mean that the first one found, which makes up for the digits that it lost.
void Design::find_number(size_t feature, Column& number, Column& missing, RunContext& context) {
    const FeatureColumn& column = dataset().features[feature];
    const auto weight_of = [&](uint64_t row) { return weight(row); };
    const auto repeats_of = [&](uint64_t row) { return repeats(row); };
    const auto sums_from = [&](double place) {
        return sums_of(column, dataset().ids_of(column), training(), place, weight_of, repeats_of, context);
    };
    const NumberSums first = sums_from(0);
    missing_[feature] = first.missing;
    missing.mean = first.missing == count_ ? 1 : 1 - first.weight / weight_;
    missing.state = first.missing == count_ ? ColumnState::constant : ColumnState::kept;
    number.state = ColumnState::constant;
    if (first.missing == count_) return;
    number.mean = first.min;
    if (first.min == first.max) return;
    const double mean = first.sum / first.weight;
    const NumberSums second = sums_from(mean);
    const double shift = second.sum / second.weight;
    number.mean = mean + shift;
    const double scale = std::sqrt(std::max(0.0, second.squares - second.sum * shift) / weight_);
    if (!(scale > 0)) return;
    number.scale = scale;
    number.state = ColumnState::kept;
}

void Design::find_categories(size_t feature, std::vector<Column>& columns, RunContext& context) {
    const FeatureColumn& column = dataset().features[feature];
    const RowIds ids = dataset().ids_of(column);
    const size_t count = column.categories.size();
    std::vector<double> weights(count + 1); // the last: of NULL
    context.for_each(training(), 1, [&](uint64_t row) {
        const uint32_t code = column.codes[ids[row]];
        const bool is_missing = code == FeatureColumn::null_code;
        missing_[feature] += is_missing ? repeats(row) : 0;
        weights[is_missing ? count : code] += weight(row);
    });
    // What rounding may tell apart weighs the same.
    static constexpr double rounding = 1e-9;
    const double max_weight = count > 0 ? *std::max_element(weights.begin(), weights.end() - 1) : 0;
    const auto is_max = [&](double each) { return each >= max_weight * (1 - rounding); };
    const auto reference =
        static_cast<uint32_t>(std::find_if(weights.begin(), weights.end() - 1, is_max) - weights.begin());
    references_[feature] = reference < count ? reference : 0;
    const auto add = [&](ColumnKind kind, uint32_t code, double weight) {
        columns.push_back({static_cast<uint32_t>(feature), kind, code, ColumnState::kept, weight / weight_});
    };
    for (uint32_t code = 0; code < count; code++)
        if (code != reference && weights[code] > 0) add(ColumnKind::category, code, weights[code]);
    if (missing_[feature] > 0) add(ColumnKind::missing, 0, weights[count]);
    const bool has_reference = max_weight > 0;
    if (has_reference && !columns.empty()) return;
    // All rows are alike, and the one column says so.
    if (has_reference) add(ColumnKind::category, reference, weight_);
    for (Column& each : columns) each = {each.feature, each.kind, each.category, ColumnState::constant, 1};
}

void Design::find_categoricals() {
    categoricals_.clear();
    const std::vector<Column>& columns = columns_.all();
    for (uint32_t c = 0; c < columns.size(); c++) {
        const Column& column = columns[c];
        const FeatureColumn& feature = dataset().features[column.feature];
        if (column.state != ColumnState::kept || !feature.categorical) continue;
        const size_t categories = feature.categories.size();
        if (categoricals_.empty() || categoricals_.back().feature != column.feature)
            categoricals_.push_back({column.feature, std::vector<uint32_t>(categories + 1)});
        const size_t code = column.kind == ColumnKind::missing ? categories : column.category;
        categoricals_.back().places[code] = static_cast<uint32_t>(columns_.place_of(c));
    }
}

void Design::drop(const std::vector<size_t>& places) {
    columns_.drop(places);
    find_categoricals();
}

void Design::read(uint64_t begin, uint64_t end, double* to, size_t stride) const {
    std::fill_n(to, end - begin, 1.0);
    for (size_t place = 1; place < columns_.dense(); place++) {
        const Column& column = columns_.at(place);
        const FeatureColumn& feature = dataset().features[column.feature];
        const RowIds ids = dataset().ids_of(feature);
        const double mean = column.mean, inverse = 1 / column.scale;
        to += stride;
        if (column.kind == ColumnKind::missing)
            for (uint64_t row = begin; row < end; row++)
                to[row - begin] = (is_null(feature.numbers[ids[row]]) ? 1 : 0) - mean;
        else
            for (uint64_t row = begin; row < end; row++) {
                const double number = feature.numbers[ids[row]];
                to[row - begin] = is_null(number) ? 0 : (number - mean) * inverse;
            }
    }
}

void Design::read_categories(uint64_t begin, uint64_t end, uint32_t* to) const {
    for (size_t c = 0; c < categoricals_.size(); c++) {
        const Categorical& categorical = categoricals_[c];
        const FeatureColumn& feature = dataset().features[categorical.feature];
        const RowIds ids = dataset().ids_of(feature);
        const auto last = static_cast<uint32_t>(categorical.places.size() - 1);
        for (uint64_t row = begin; row < end; row++)
            to[(row - begin) * categoricals_.size() + c] = categorical.places[std::min(feature.codes[ids[row]], last)];
    }
}

} // namespace btml::linear
