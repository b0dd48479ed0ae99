#include "core/linear/linear_model.hpp"

#include "core/linear/columns.hpp"

#include <algorithm>

namespace btml::linear {

namespace {

constexpr SectionKind coefficients_section{"coefficients"}, statistics_section{"statistics"},
    covariance_section{"covariance"};
constexpr SectionKind known_sections[] = {provenance_section,   features_section,   options_section,
                                          coefficients_section, statistics_section, covariance_section};
constexpr size_t column_bytes = 2 * sizeof(uint32_t) + 2 + 4 * sizeof(double);

void encode(const Column& column, Writer& writer) {
    writer.put(column.feature);
    writer.put(static_cast<uint8_t>(column.kind));
    writer.put(column.category);
    writer.put(static_cast<uint8_t>(column.state));
    writer.put_finite(column.mean);
    writer.put_positive(column.scale);
    writer.put_finite(column.estimate);
    writer.put_finite(column.std_error);
}

template <class Choice>
Choice get_choice(Reader& reader, Choice last, const char* what) {
    const auto value = reader.get<uint8_t>();
    if (value > static_cast<uint8_t>(last)) corrupt_model(format("The %s of a column is %d.", what, value));
    return static_cast<Choice>(value);
}

double get_not_negative(Reader& reader, const char* what) {
    const double value = reader.get_finite();
    if (value < 0) corrupt_model(format("Its %s is negative.", what));
    return value;
}

std::optional<double> get_optional(Reader& reader) {
    return reader.get_bool() ? std::optional(reader.get_finite()) : std::nullopt;
}

Column decode_column(Reader& reader, const std::vector<Feature>& features) {
    Column column{reader.get<uint32_t>()};
    if (column.feature >= features.size()) corrupt_model(format("A column is of feature %u.", column.feature));
    column.kind = get_choice(reader, ColumnKind::category, "kind");
    column.category = reader.get<uint32_t>();
    const Feature& feature = features[column.feature];
    const bool is_category = column.kind == ColumnKind::category;
    if (is_category ? column.category >= feature.categories.size() : column.category != 0)
        corrupt_model(format("A column is of category %u.", column.category));
    if (is_category ? !feature.categorical : feature.categorical && column.kind == ColumnKind::number)
        corrupt_model("The kind of a column is not that of its feature.");
    column.state = get_choice(reader, ColumnState::offset, "state");
    column.mean = reader.get_finite();
    column.scale = reader.get_finite();
    if (!(column.scale > 0)) corrupt_model("The scale of a column is not positive.");
    column.estimate = reader.get_finite();
    column.std_error = get_not_negative(reader, "standard error");
    const bool is_offset = column.state == ColumnState::offset;
    if (column.state != ColumnState::kept && (column.estimate != is_offset || column.std_error != 0))
        corrupt_model("A column that was dropped has a coefficient.");
    if (is_offset && (column.kind != ColumnKind::number || column.feature + 1 != features.size()))
        corrupt_model("Its offset is not the last feature, a number.");
    return column;
}

// Numbers come before NULL, and categories before it in the order of their codes.
bool is_before(const Column& a, const Column& b) {
    const auto rank = [](const Column& column) {
        return column.kind == ColumnKind::missing ? uint64_t{UINT32_MAX} + 1 : column.category;
    };
    return a.feature != b.feature ? a.feature < b.feature : rank(a) < rank(b);
}

void decode_coefficients(Reader& reader, Model& model) {
    model.labels = reader.get_list(reader.get_count(sizeof(uint32_t)), [&] { return reader.get_string(); });
    if (!model.labels.empty() && (model.labels.size() != 2 || model.options.family != Family::binomial))
        corrupt_model(format("It has %zu labels.", model.labels.size()));
    model.centre = reader.get_finite();
    model.intercept = reader.get_finite();
    model.intercept_error = get_not_negative(reader, "standard error");
    const size_t features = model.features.size();
    if (reader.get_count(sizeof(uint32_t) + sizeof(uint64_t)) != features)
        corrupt_model("Not every feature has a category of reference.");
    model.references = reader.get_list(features, [&] { return reader.get<uint32_t>(); });
    model.missing = reader.get_list(features, [&] { return reader.get<uint64_t>(); });
    for (size_t f = 0; f < features; f++)
        if (model.references[f] > 0 && model.references[f] >= model.features[f].categories.size())
            corrupt_model(format("The category of reference of feature %zu is %u.", f, model.references[f]));
    const size_t columns = reader.get_count(column_bytes);
    if (columns > max_columns) corrupt_model(format("It has %zu columns.", columns));
    model.columns = reader.get_list(columns, [&] { return decode_column(reader, model.features); });
    for (size_t c = 1; c < columns; c++)
        if (!is_before(model.columns[c - 1], model.columns[c])) corrupt_model("Its columns are not in order.");
}

void encode_coefficients(const Model& model, Writer& writer) {
    writer.put_list(model.labels, [&](std::string_view label) { writer.put(label); });
    writer.put_finite(model.centre);
    writer.put_finite(model.intercept);
    writer.put_finite(model.intercept_error);
    writer.put_count(model.features.size());
    for (const uint32_t reference : model.references) writer.put(reference);
    for (const uint64_t missing : model.missing) writer.put(missing);
    writer.put_list(model.columns, [&](const Column& column) { encode(column, writer); });
}

void encode(const Statistics& statistics, Writer& writer) {
    writer.put_finite(statistics.weight);
    writer.put_finite(statistics.deviance);
    writer.put_finite(statistics.null_deviance);
    for (const std::optional<double>& number :
         {statistics.r_squared, statistics.adjusted_r_squared, statistics.dispersion, statistics.log_likelihood,
          statistics.aic, statistics.holdout_deviance})
        writer.put_optional(number);
    writer.put_finite(statistics.degrees_of_freedom);
    writer.put(statistics.iterations);
    writer.put(statistics.clusters);
}

Statistics decode_statistics(Reader& reader) {
    Statistics statistics;
    statistics.weight = get_not_negative(reader, "weight");
    statistics.deviance = reader.get_finite(); // rounding may make one of nearly 0 negative
    statistics.null_deviance = reader.get_finite();
    for (std::optional<double>* const number :
         {&statistics.r_squared, &statistics.adjusted_r_squared, &statistics.dispersion, &statistics.log_likelihood,
          &statistics.aic, &statistics.holdout_deviance})
        *number = get_optional(reader);
    if (statistics.dispersion.value_or(0) < 0) corrupt_model("Its dispersion is negative.");
    statistics.degrees_of_freedom = get_not_negative(reader, "number of degrees of freedom");
    statistics.iterations = reader.get<uint32_t>();
    statistics.clusters = reader.get<uint64_t>();
    return statistics;
}

void decode_covariance(Reader& reader, Model& model) {
    const auto kept = static_cast<size_t>(std::count_if(model.columns.begin(), model.columns.end(),
                                                        [](const Column& c) { return c.state == ColumnState::kept; }));
    const size_t size = kept + 1, count = reader.get_count(sizeof(double));
    if (size > Model::max_covariance_columns || count != size * (size + 1) / 2)
        corrupt_model(format("The covariance of %zu coefficients has %zu numbers.", size, count));
    if (!model.has_errors()) corrupt_model("It has a covariance and no standard errors.");
    model.covariance = reader.get_list(count, [&] { return reader.get_finite(); });
}

} // namespace

std::string Model::name_of(const Column& column) const {
    const Feature& feature = features[column.feature];
    if (column.kind == ColumnKind::number) return '"' + feature.name + '"';
    return '"' + feature.name +
           "\" = " + (column.kind == ColumnKind::missing ? "NULL" : '"' + feature.categories[column.category] + '"');
}

std::vector<FeatureTerms> terms_of(const Model& model) {
    std::vector<FeatureTerms> terms(model.features.size());
    for (const Column& column : model.columns) {
        if (column.state != ColumnState::kept && column.state != ColumnState::offset) continue;
        FeatureTerms& of = terms[column.feature];
        if (column.kind == ColumnKind::number) {
            if (column.estimate != 0) of.number = &column;
            continue;
        }
        of.mean += column.estimate * column.mean;
        if (column.kind == ColumnKind::missing) {
            of.missing = &column;
            continue;
        }
        of.categories.resize(model.features[column.feature].categories.size());
        of.categories[column.category] = &column;
    }
    return terms;
}

double base_of(const Model& model) {
    return model.centre - (model.has_offset() ? model.columns.back().mean : 0);
}

double Model::test_degrees_of_freedom() const {
    if (!has_dispersion()) return std::numeric_limits<double>::infinity();
    return statistics.clusters > 0 ? static_cast<double>(statistics.clusters - 1) : statistics.degrees_of_freedom;
}

void encode(const Model& model, Writer& writer) {
    encode(static_cast<const Provenance&>(model), writer);
    writer.section(options_section, [&] { options_table.write(model.options, writer); });
    writer.section(coefficients_section, [&] { encode_coefficients(model, writer); });
    writer.section(statistics_section, [&] { encode(model.statistics, writer); });
    if (!model.covariance.empty())
        writer.section(covariance_section,
                       [&] { writer.put_list(model.covariance, [&](double number) { writer.put_finite(number); }); });
}

Model decode(Reader& reader) {
    Model model;
    Sections sections(reader, known_sections);
    decode(sections, reader, static_cast<Provenance&>(model));
    if (model.features.empty()) corrupt_model("It has no features.");
    sections.require(options_section, [&] { model.options = options_table.read(reader); });
    if (model.options.family == Family::automatic) corrupt_model("It has no family.");
    sections.require(coefficients_section, [&] { decode_coefficients(reader, model); });
    sections.require(statistics_section, [&] { model.statistics = decode_statistics(reader); });
    if (model.statistics.clusters == 1) corrupt_model("Its errors are clustered by one group.");
    sections.read(covariance_section, [&] { decode_covariance(reader, model); });
    return model;
}

} // namespace btml::linear
