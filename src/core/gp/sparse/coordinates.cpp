#include "core/gp/sparse/coordinates.hpp"

#include "core/numbers/usual_range.hpp"

#include <cmath>

namespace btml::gp {

namespace {

constexpr double null_category = -1, other_category = -2; // codes beside those of categories
constexpr double max_deviations = 1e100;                  // squares of distances are finite

} // namespace

Coordinates::Coordinates(const TrainingColumns& rows, const std::vector<Feature>& features, RunContext& context) {
    for (size_t f = 0; f < features.size(); f++) columns_.push_back(column_of(rows.features[f], features[f], context));
    count();
}

Coordinates::Column Coordinates::column_of(const TrainingColumn& values, const Feature& feature, RunContext& context) {
    Column column;
    column.categorical = values.categorical;
    const FeatureView view = values.view();
    const size_t rows = view.rows();
    if (values.categorical) {
        bool varies = false;
        context.for_each(
            rows, 1, [&](size_t row) { varies = varies || view.codes[view.place(row)] != view.codes[view.place(0)]; });
        column.categories = varies ? values.categories : 0;
        return column;
    }
    const auto for_each_number = [&](const auto& body) {
        context.for_each(rows, 1, [&](size_t row) {
            if (const double x = view.value(row); !is_null(x)) body(x);
        });
    };
    size_t given = 0;
    for_each_number([&](double x) {
        if (!(std::abs(x) < max_deviations))
            throw Error(ErrorCode::out_of_range,
                        format("feature \"%s\" is %s in a row", feature.name.c_str(), shortest(x).c_str()),
                        "A smooth kernel compares numbers of less than 1e100 in magnitude.",
                        "Leave such rows out, or use kernel => 'tree'.");
        given++;
    });
    if (given == 0) return column;
    column.has_null = given < rows;
    const UsualRange usual = usual_range(for_each_number);
    double sum = 0, squares = 0, count = 0;
    for_each_number([&](double x) {
        if (!usual.contains(x)) return;
        sum += x;
        count++;
    });
    column.mean = sum / count;
    for_each_number([&](double x) {
        const double apart = x - column.mean;
        if (usual.contains(x)) squares += apart * apart;
    });
    const double deviation = std::sqrt(squares / count);
    // Rounding makes the deviation of equal numbers greater than 0.
    const bool varies = deviation > 1e-12 * std::abs(column.mean) && deviation > 1e-200 && deviation < 1e200;
    column.inverse_deviation = varies ? 1 / deviation : 0;
    return column;
}

void Coordinates::count() {
    numbers_ = width_ = 0;
    for (const Column& column : columns_) {
        numbers_ += column.is_number();
        width_ += column.is_number() + column.is_category();
    }
}

bool Coordinates::is_unlike(const Column& column, double x) {
    if (!column.is_number()) return false;
    if (is_null(x)) return !column.has_null;
    return !(std::abs((x - column.mean) * column.inverse_deviation) < max_deviations);
}

std::optional<size_t> Coordinates::unlike(std::span<const double> features) const {
    for (size_t f = 0; f < columns_.size(); f++)
        if (is_unlike(columns_[f], features[f])) return f;
    return std::nullopt;
}

template <class ValueOf>
bool Coordinates::find_by(const ValueOf& value_of, double* to) const {
    double* number = to;
    double* category = to + numbers_;
    for (size_t f = 0; f < columns_.size(); f++) {
        const Column& column = columns_[f];
        const double x = value_of(f);
        if (is_unlike(column, x)) return false;
        if (column.is_number()) *number++ = is_null(x) ? 0 : (x - column.mean) * column.inverse_deviation;
        if (!column.is_category()) continue;
        const bool known = x >= 0 && x < column.categories;
        *category++ = !column.categorical ? is_null(x) : known ? x : is_null(x) ? null_category : other_category;
    }
    return true;
}

bool Coordinates::find(std::span<const double> features, double* to) const {
    return find_by([&](size_t f) { return features[f]; }, to);
}

void Coordinates::read(const TrainingColumns& rows, size_t row, double* to) const {
    find_by([&](size_t f) { return rows.features[f].view().value(row); }, to);
}

std::vector<size_t> Coordinates::features_of_coordinates() const {
    std::vector<size_t> features;
    for (const bool number : {true, false})
        for (size_t f = 0; f < columns_.size(); f++)
            if (number ? columns_[f].is_number() : columns_[f].is_category()) features.push_back(f);
    return features;
}

void Coordinates::encode(Writer& writer) const {
    for (const Column& column : columns_) {
        writer.put_finite(column.mean);
        writer.put_finite(column.inverse_deviation);
        writer.put(column.categories);
        writer.put(column.has_null);
    }
}

Coordinates Coordinates::decode(Reader& reader, const std::vector<Feature>& features) {
    Coordinates coordinates;
    for (const Feature& feature : features) {
        Column column;
        column.categorical = feature.categorical;
        column.mean = reader.get_finite();
        column.inverse_deviation = reader.get_finite();
        column.categories = reader.get<uint32_t>();
        column.has_null = reader.get_bool();
        if (column.inverse_deviation != 0 && !(column.inverse_deviation > 1e-200 && column.inverse_deviation < 1e200))
            corrupt_model("A standard deviation is out of range.");
        if (column.categories != 0 && column.categories != feature.categories.size())
            corrupt_model("A feature has other categories than the model's.");
        coordinates.columns_.push_back(column);
    }
    coordinates.count();
    return coordinates;
}

} // namespace btml::gp
