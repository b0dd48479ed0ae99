#include "core/gp/tree/observations.hpp"
#include "core/gp/tree/training_columns.hpp"

namespace btml::gp {

static constexpr const char* what = "rows of a model";

TrainingColumns copy(const TrainingColumns& rows, RunContext& context) {
    TrainingColumns result(context.memory());
    result.target = rows.target.copy(context);
    result.weight = rows.weight.copy(context);
    for (const TrainingColumn& feature : rows.features)
        result.features.push_back({feature.categorical, feature.numbers.copy(context), feature.codes.copy(context),
                                   feature.categories, feature.ids});
    return result;
}

// Takes the column out of the table that it stays in.
static void make_own(TrainingColumn& feature) {
    if (!feature.ids) return;
    const auto take = [&](auto& values) {
        if (values.empty()) return;
        std::remove_cvref_t<decltype(values)> of_rows(values.budget(), what, feature.ids->size());
        for (size_t row = 0; row < of_rows.size(); row++) of_rows[row] = values[(*feature.ids)[row]];
        values = std::move(of_rows);
    };
    take(feature.numbers);
    take(feature.codes);
    feature.ids.reset();
}

void add_row(TrainingColumns& rows, std::span<const double> values, double target, double weight) {
    for (size_t f = 0; f < rows.features.size(); f++) {
        TrainingColumn& feature = rows.features[f];
        make_own(feature);
        if (feature.categorical)
            feature.codes.push_back(is_null(values[f]) ? FeatureView::null_code : static_cast<uint32_t>(values[f]));
        else
            feature.numbers.push_back(values[f]);
    }
    while (weight != 1 && rows.weight.size() < rows.target.size()) rows.weight.push_back(1);
    rows.target.push_back(target);
    if (weight != 1 || !rows.weight.empty()) rows.weight.push_back(weight);
}

void take_row(TrainingColumns& rows, size_t row) {
    const auto take = [&](auto& values) {
        if (values.empty()) return;
        values[row] = values[values.size() - 1];
        values.resize(values.size() - 1);
    };
    for (TrainingColumn& feature : rows.features) make_own(feature), take(feature.numbers), take(feature.codes);
    take(rows.target);
    take(rows.weight);
}

// Says what is wrong with an observation, if one is not valid.
static std::optional<std::string> what_is_invalid(const TrainingColumns& rows, RunContext& context) {
    try {
        context.for_each(rows.rows(), 1, [&](size_t i) { validate_observation(rows.target[i], rows.weight_of(i)); });
    } catch (const Error& error) {
        return format("In a row, %s.", error.what());
    }
    return std::nullopt;
}

void encode(const TrainingColumns& rows, Writer& writer) {
    if (const auto invalid = what_is_invalid(rows, writer.context()))
        throw Error(ErrorCode::out_of_range, "a row that the model keeps is out of range", *invalid);
    const auto put = [&](const auto& values) {
        for (const auto value : values) writer.put(value);
    };
    writer.put_count(rows.rows());
    writer.put(!rows.weight.empty());
    for (const TrainingColumn& column : rows.features) {
        const FeatureView view = column.view();
        for (size_t row = 0; row < view.rows(); row++)
            if (view.categorical)
                writer.put(view.codes[view.place(row)]);
            else
                writer.put(view.numbers[view.place(row)]);
    }
    put(rows.target);
    put(rows.weight);
}

template <class T, class Get>
static Buffer<T> get(size_t count, RunContext& context, const Get& get_one) {
    Buffer<T> values(context.memory(), what, count);
    context.for_each(count, 1, [&](size_t i) { values[i] = get_one(); });
    return values;
}

TrainingColumns decode_training_columns(Reader& reader, const Encoding& encoding, RunContext& context) {
    size_t bytes_of_row = sizeof(double);
    for (const FeatureBits& feature : encoding.features())
        bytes_of_row += feature.categorical ? sizeof(uint32_t) : sizeof(double);
    const size_t rows = reader.get_count(bytes_of_row);
    const bool weighted = reader.get_bool();
    const auto number = [&] { return reader.get_double(); };
    TrainingColumns columns(context.memory());
    for (const FeatureBits& feature : encoding.features())
        columns.features.push_back(
            {feature.categorical, get<double>(feature.categorical ? 0 : rows, context, number),
             get<uint32_t>(feature.categorical ? rows : 0, context, [&] { return reader.get<uint32_t>(); }),
             static_cast<uint32_t>(feature.places.size())});
    columns.target = get<double>(rows, context, number);
    if (weighted) {
        if (reader.remaining() / sizeof(double) < rows) corrupt_model("It ends before the weights of its rows.");
        columns.weight = get<double>(rows, context, number);
    }
    if (const auto invalid = what_is_invalid(columns, context)) corrupt_model(*invalid);
    return columns;
}

} // namespace btml::gp
