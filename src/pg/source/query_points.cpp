#include "pg/source/query_points.hpp"

#include "core/relational/join/join_rows.hpp"
#include "core/relational/queries/join_sample.hpp"
#include "pg/values/feature_type.hpp"
#include "pg/values/number_array.hpp"

namespace btml::pg {

using relational::ColumnRef;
using relational::DataColumn;
using relational::RowId;

namespace {

// Returns where each row of the join is in the table of a column; null where they are the same.
const RowId* row_ids(const relational::JoinRows& rows, const ColumnRef& place) {
    const Buffer<RowId>& ids = rows.row_ids[place.table];
    return ids.empty() ? nullptr : ids.data();
}

std::vector<ColumnRequest> requests_for(const Source& source, const std::vector<Feature>& features) {
    std::vector<ColumnRequest> requests;
    for (const FeatureGroup& group : grouped(features, false)) {
        const Feature& feature = features[group.first];
        const int column = source.column(std::string(feature.column()));
        const Oid type = source.columns()[column].type;
        require_feature_type(feature, type, source.name().c_str());
        if (feature.categorical)
            requests.push_back({column, ReadAs::category});
        else if (feature.element > 0)
            requests.push_back({column, ReadAs::vector, nullptr, group.count,
                                pg_call([=] { return array_rule(type, CurrentMemoryContext); })});
        else
            requests.push_back({column, ReadAs::number, time_cast(feature, type)});
    }
    return requests;
}

// Returns the places of the features, whose columns were asked for first.
std::vector<ColumnRef> places_of(const std::vector<Feature>& features, const LoadedSource& loaded) {
    std::vector<ColumnRef> places;
    for (size_t column = 0; places.size() < features.size(); column++) {
        const std::vector<ColumnRef>& elements = loaded.elements[column];
        places.insert(places.end(), elements.begin(), elements.end());
        if (elements.empty()) places.push_back(loaded.places[column]);
    }
    return places;
}

// Returns where a column is asked for so; asks for it unless a feature has.
size_t text_request(std::vector<ColumnRequest>& requests, int column, ReadAs as) {
    const auto found = std::find_if(requests.begin(), requests.end(), [=](const ColumnRequest& request) {
        return request.output == column && request.as == as;
    });
    const auto place = static_cast<size_t>(found - requests.begin());
    if (found == requests.end()) requests.push_back({column, as});
    return place;
}

// Returns how the numbers of an array are printed: those that a double may round, as doubles.
NumberKind kind_of_elements(Oid type) {
    const NumberKind kind = pg_call([=] { return array_rule(type, CurrentMemoryContext); }).element;
    return is_exact(kind) ? kind : NumberKind::float8;
}

// The column's code of each category as the feature has it, or −1.
std::vector<double> codes_of(const DataColumn& column, const Feature& feature) {
    static constexpr double unseen = -1;
    std::vector<double> codes;
    for (const std::string& label : column.categories) {
        const auto found =
            std::lower_bound(feature.categories.begin(), feature.categories.end(), label, CategoryOrder(feature.type));
        const bool seen = found != feature.categories.end() && *found == label;
        codes.push_back(seen ? static_cast<double>(found - feature.categories.begin()) : unseen);
    }
    return codes;
}

// Leaves out rows without the column's value.
void keep_given(relational::Join& join, const ColumnRef& place, RunContext& context) {
    const auto is_given = [&](RowId row) { return column_at(join, place).has_value(row); };
    join.filter(place.table, is_given, context);
}

// Leaves out rows where the column is false or NULL.
void keep_true(relational::Join& join, const ColumnRef& place, RunContext& context) {
    const auto is_true = [&](RowId row) { return column_at(join, place).numbers[row] == 1; };
    join.filter(place.table, is_true, context);
}

} // namespace

PointTexts::PointTexts(const DataColumn& column, const RowId* ids, uint64_t rows, RunContext& context)
    : codes_(context.memory(), "texts of points", rows), texts_(context.memory()) {
    // Holds 1 for the column's texts that rows have, then their new numbers.
    Buffer<uint32_t> numbers(context.memory(), "texts of points", column.categories.size(), uint32_t{0});
    context.for_each(rows, 1, [&](uint64_t row) {
        const uint32_t code = codes_[row] = column.codes[ids ? ids[row] : row];
        if (code != DataColumn::null_code) numbers[code] = 1;
    });
    context.for_each(numbers.size(), 1, [&](uint64_t code) {
        if (numbers[code] == 0) return;
        numbers[code] = texts_.number(column.categories[code]);
        context.worked(column.categories[code].size());
    });
    context.for_each(rows, 1, [&](uint64_t row) {
        codes_[row] = codes_[row] == DataColumn::null_code ? null_code : numbers[codes_[row]];
    });
}

QueryPoints::QueryPoints(const GivenSource& source, const std::vector<Feature>& features, RunContext& context,
                         std::string name)
    : width_(features.size()), values_(context.memory(), "points"), numbers_(context.memory(), "points") {
    const Source read_from(source, std::move(name));
    has_ids_ = read_from.find("id").has_value();
    const PointRequest request{.ids = has_ids_};
    read(read_from, features, request, context);
}

QueryPoints::QueryPoints(const GivenSource& source, const std::vector<Feature>& features, const PointRequest& request,
                         RunContext& context)
    : width_(features.size()), values_(context.memory(), "points"), numbers_(context.memory(), "points") {
    read(Source(source, request.name), features, request, context);
}

void QueryPoints::read(const Source& source, const std::vector<Feature>& features, const PointRequest& request,
                       RunContext& context) {
    std::vector<ColumnRequest> requests = requests_for(source, features);
    std::vector<size_t> text_places;
    if (request.ids) text_places.push_back(text_request(requests, source.column("id"), ReadAs::text));
    for (const std::string& name : request.texts) {
        const int column = source.column(name);
        require_category(source.columns()[column], "column");
        text_places.push_back(text_request(requests, column, ReadAs::category));
    }
    if (request.printed) {
        const Feature& feature = features[*request.printed];
        const int column = source.column(std::string(feature.column()));
        const bool categorical = feature.categorical;
        const NumberKind kind =
            feature.element > 0 ? kind_of_elements(source.columns()[column].type) : source.columns()[column].number;
        const bool has_text = categorical || !is_exact(kind);
        printed_ = *request.printed;
        printed_is_category_ = categorical;
        printed_kind_ = has_text ? NumberKind::none : kind;
        if (has_text)
            text_places.push_back(text_request(requests, column, categorical ? ReadAs::category : ReadAs::text));
    }
    const size_t number_place = requests.size();
    if (request.number) {
        requests.push_back({source.column(*request.number), ReadAs::number});
        require_number(source.columns()[requests.back().output], "column");
    }
    if (request.holdout) {
        requests.push_back({source.column(*request.holdout), ReadAs::number});
        require_boolean(source.columns()[requests.back().output], "holdout");
    }
    LoadedSource loaded = source.read(requests, context, request.sample ? RowContents::read : RowContents::unread);
    relational::Join& join = loaded.join;
    if (request.is_given) keep_given(join, loaded.places[request.number ? number_place : text_places[0]], context);
    if (request.holdout) keep_true(join, loaded.places.back(), context);
    relational::JoinRows rows;
    if (request.sample) {
        relational::JoinSampler sampler(join, {}, context);
        source_rows_ = sampler.count();
        rows = sampler.draw(static_cast<uint64_t>(request.sample->rows), request.sample->seed, 0);
    } else {
        rows = relational::enumerate(join, context);
        source_rows_ = rows.rows;
    }
    rows_ = rows.rows;
    values_.resize(rows_ * width_);
    const std::vector<ColumnRef> places = places_of(features, loaded);
    for (size_t f = 0; f < width_; f++) {
        const DataColumn& column = column_at(join, places[f]);
        const RowId* const ids = row_ids(rows, places[f]);
        const std::vector<double> codes = codes_of(column, features[f]);
        context.for_each(rows_, 1, [&](uint64_t row) {
            const uint64_t at = ids ? ids[row] : row;
            double& value = values_[row * width_ + f];
            if (!features[f].categorical)
                value = column.numbers[at];
            else
                value = column.codes[at] == DataColumn::null_code ? null_number : codes[column.codes[at]];
        });
    }
    for (const size_t text : text_places) {
        const ColumnRef& place = loaded.places[text];
        texts_.emplace_back(column_at(join, place), row_ids(rows, place), rows_, context);
    }
    if (!request.number) return;
    const ColumnRef& place = loaded.places[number_place];
    const RowId* const ids = row_ids(rows, place);
    numbers_.resize(rows_);
    const Buffer<double>& numbers = column_at(join, place).numbers;
    context.for_each(rows_, 1, [&](uint64_t row) { numbers_[row] = numbers[ids ? ids[row] : row]; });
}

double QueryPoints::printed_value(uint64_t row) const {
    if (!printed_is_category_) return values(row)[printed_];
    const uint32_t code = texts_.back().code(row);
    return code == PointTexts::null_code ? null_number : code;
}

std::optional<std::string> QueryPoints::printed(uint64_t row) const {
    if (printed_kind_ == NumberKind::none) {
        const std::optional<std::string_view> text = texts_.back()[row];
        return text ? std::optional<std::string>(*text) : std::nullopt;
    }
    const double x = values(row)[printed_];
    if (is_null(x)) return {};
    return pg_call([&] { return text_of_exact(x, printed_kind_); });
}

std::optional<std::string> QueryPoints::id(uint64_t row) const {
    if (!has_ids_) return std::to_string(row + 1);
    const std::optional<std::string_view> text = texts_[0][row];
    return text ? std::optional<std::string>(*text) : std::nullopt;
}

} // namespace btml::pg
