#include "core/linear/design.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/linear/linear_fit.hpp"

#include <algorithm>
#include <cmath>

namespace btml::linear {

namespace {

// Sums over the numbers of training rows that are not NULL.
struct NumberSums {
    double weight = 0, sum = 0, squares = 0; // of distances to some place
    double least = HUGE_VAL, most = -HUGE_VAL;
    uint64_t missing = 0;

    void operator+=(const NumberSums& other) {
        weight += other.weight;
        sum += other.sum;
        squares += other.squares;
        least = std::min(least, other.least);
        most = std::max(most, other.most);
        missing += other.missing;
    }
};

template <class WeightOf>
NumberSums sums_of(const FeatureColumn& column, RowIds ids, uint64_t rows, double place, const WeightOf& weight_of,
                   RunContext& context) {
    NumberSums parts[4]; // side by side, since an addition waits for the one before it
    context.for_each(rows, 1, [&](uint64_t row) {
        NumberSums& sums = parts[row % 4];
        const double number = column.numbers[ids[row]];
        if (is_null(number)) {
            sums.missing++;
            return;
        }
        const double weight = weight_of(row), off = number - place;
        sums.weight += weight;
        sums.sum += weight * off;
        sums.squares += weight * off * off;
        sums.least = std::min(sums.least, number);
        sums.most = std::max(sums.most, number);
    });
    for (const NumberSums& part : std::span(parts).subspan(1)) parts[0] += part;
    return parts[0];
}

void refuse_columns(size_t count) {
    if (count <= max_columns) return;
    throw Error(
        ErrorCode::limit_exceeded,
        format("a linear model of these features has %zu columns, and at most %zu are possible", count, max_columns),
        "A column is a number, or a category but one of a feature.", "Leave out features of many categories.");
}

} // namespace

Design::Design(OrderedRows rows, ThreadTeam& team, RunContext& context) : rows_(std::move(rows)) {
    const size_t count = dataset().features.size();
    if (count == 0) throw Error(ErrorCode::invalid_argument, "there are no features to fit");
    context.for_each(training(), 1, [&](uint64_t row) { weight_ += weight(row); });
    references_.resize(count);
    missing_.resize(count);
    std::vector<std::vector<Column>> found(count);
    WorkerContexts contexts(context, team.size(), 0, "columns of a linear model");
    const auto find = [&](size_t f, RunContext& own) {
        if (dataset().features[f].categorical) return find_categories(f, found[f], own);
        Column number{static_cast<uint32_t>(f)}, missing{static_cast<uint32_t>(f), ColumnKind::missing};
        find_number(f, number, missing, own);
        found[f].push_back(number);
        if (missing_[f] > 0) found[f].push_back(missing);
    };
    team.for_each(
        count, [&](size_t f, int worker) { contexts.run(worker, [&](RunContext& own) { find(f, own); }); },
        [&] { contexts.poll(); });
    for (const std::vector<Column>& of_feature : found) {
        columns_.insert(columns_.end(), of_feature.begin(), of_feature.end());
        refuse_columns(columns_.size());
    }
    find_places();
}

// The second pass takes distances to the mean that the first one found, which makes up for the digits that it lost.
void Design::find_number(size_t feature, Column& number, Column& missing, RunContext& context) {
    const FeatureColumn& column = dataset().features[feature];
    const auto weight_of = [&](uint64_t row) { return weight(row); };
    const auto sums_from = [&](double place) {
        return sums_of(column, dataset().ids_of(column), training(), place, weight_of, context);
    };
    const NumberSums first = sums_from(0);
    missing_[feature] = first.missing;
    missing.mean = first.missing == training() ? 1 : 1 - first.weight / weight_;
    missing.state = first.missing == training() ? ColumnState::constant : ColumnState::kept;
    number.state = ColumnState::constant;
    if (first.missing == training()) return;
    number.mean = first.least;
    if (first.least == first.most) return;
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
        missing_[feature] += is_missing;
        weights[is_missing ? count : code] += weight(row);
    });
    const auto most = std::max_element(weights.begin(), weights.end() - 1);
    const auto reference = static_cast<uint32_t>(most - weights.begin());
    references_[feature] = reference < count ? reference : 0;
    const auto add = [&](ColumnKind kind, uint32_t code, double weight) {
        columns.push_back({static_cast<uint32_t>(feature), kind, code, ColumnState::kept, weight / weight_});
    };
    for (uint32_t code = 0; code < count; code++)
        if (code != reference && weights[code] > 0) add(ColumnKind::category, code, weights[code]);
    if (missing_[feature] > 0) add(ColumnKind::missing, 0, weights[count]);
    const bool has_reference = count > 0 && *most > 0;
    if (has_reference && !columns.empty()) return;
    // All rows are alike, and the one column says so.
    if (has_reference) add(ColumnKind::category, reference, weight_);
    for (Column& each : columns) each = {each.feature, each.kind, each.category, ColumnState::constant, 1};
}

void Design::find_places() {
    places_.clear();
    dense_.clear();
    sparse_.clear();
    const auto is_sparse = [&](const Column& column) { return dataset().features[column.feature].categorical; };
    for (uint32_t c = 0; c < columns_.size(); c++)
        if (columns_[c].state == ColumnState::kept && !is_sparse(columns_[c])) dense_.push_back(c);
    places_ = dense_;
    for (uint32_t c = 0; c < columns_.size(); c++) {
        const Column& column = columns_[c];
        if (column.state != ColumnState::kept || !is_sparse(column)) continue;
        const size_t categories = dataset().features[column.feature].categories.size();
        if (sparse_.empty() || sparse_.back().feature != column.feature)
            sparse_.push_back({column.feature, std::vector<uint32_t>(categories + 1)});
        places_.push_back(c);
        const size_t code = column.kind == ColumnKind::missing ? categories : column.category;
        sparse_.back().places[code] = static_cast<uint32_t>(places_.size());
    }
}

void Design::drop(const std::vector<size_t>& places) {
    for (const size_t place : places) columns_[number_at(place)].state = ColumnState::dependent;
    find_places();
}

std::vector<size_t> Design::in_order() const {
    std::vector<size_t> order{0};
    for (size_t place = 1; place < size(); place++) order.push_back(place);
    std::sort(order.begin() + 1, order.end(), [&](size_t a, size_t b) { return places_[a - 1] < places_[b - 1]; });
    return order;
}

void Design::read(uint64_t begin, uint64_t end, double* to, size_t stride) const {
    std::fill_n(to, end - begin, 1.0);
    for (const uint32_t c : dense_) {
        const Column& column = columns_[c];
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
    for (size_t g = 0; g < sparse_.size(); g++) {
        const Group& group = sparse_[g];
        const FeatureColumn& feature = dataset().features[group.feature];
        const RowIds ids = dataset().ids_of(feature);
        const auto last = static_cast<uint32_t>(group.places.size() - 1);
        for (uint64_t row = begin; row < end; row++)
            to[(row - begin) * sparse_.size() + g] = group.places[std::min(feature.codes[ids[row]], last)];
    }
}

} // namespace btml::linear
