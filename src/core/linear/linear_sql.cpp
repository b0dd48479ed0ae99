#include "core/linear/linear_sql.hpp"

namespace btml::linear {

namespace {

// The columns of a feature that were kept.
struct KeptColumns {
    const Column* number = nullptr;
    const Column* missing = nullptr;
    std::vector<const Column*> categories = {};
    double mean = 0; // of what zeros and ones add

    void add(const Column& column) {
        if (column.kind == ColumnKind::number) {
            number = &column;
            return;
        }
        mean += column.estimate * column.mean;
        if (column.kind == ColumnKind::missing)
            missing = &column;
        else
            categories.push_back(&column);
    }
    // Returns what zeros and ones add where none is 1.
    double otherwise() const { return 0 - mean; }
    bool is_empty() const { return !number && !missing && categories.empty(); }
};

// Writes a number times how far it is from its mean. The sums of constants are those of Predictor.
void write_number_term(const KeptColumns& columns, const Feature& feature, SqlText& sql) {
    if (columns.missing || !columns.number) sql << columns.otherwise();
    if (!columns.number) return;
    if (columns.missing) sql << " + ";
    sql << columns.number->estimate << " * (";
    write_number(feature, sql);
    sql << " - " << columns.number->mean << ")";
}

void write_number_feature(const KeptColumns& columns, const Feature& feature, SqlText& sql) {
    (sql << "CASE WHEN ").identifier(feature.name)
        << " IS NULL THEN " << (columns.missing ? columns.otherwise() + columns.missing->estimate : 0.0) << " ELSE ";
    write_number_term(columns, feature, sql);
    sql << " END";
}

void write_category_feature(const KeptColumns& columns, const Feature& feature, SqlText& sql) {
    sql << "CASE";
    if (columns.missing)
        (sql << " WHEN ").identifier(feature.name)
            << " IS NULL THEN " << columns.otherwise() + columns.missing->estimate;
    for (const Column* const column : columns.categories) {
        sql << " WHEN ";
        write_in_categories(feature, std::span(&column->category, 1), sql);
        sql << " THEN " << columns.otherwise() + column->estimate;
    }
    sql << " ELSE " << columns.otherwise() << " END";
}

void write_score(const Model& model, SqlText& sql) {
    std::vector<KeptColumns> features(model.features.size());
    for (const Column& column : model.columns)
        if (column.state == ColumnState::kept) features[column.feature].add(column);
    sql << model.centre;
    for (size_t f = 0; f < features.size(); f++) {
        if (features[f].is_empty()) continue;
        sql << "\n + ";
        if (model.features[f].categorical)
            write_category_feature(features[f], model.features[f], sql);
        else
            write_number_feature(features[f], model.features[f], sql);
    }
}

} // namespace

Buffer<char> to_sql(const Model& model, RunContext& context, const SqlForm& form) {
    SqlText sql(form.dialect, context);
    const bool is_first = form.label == size_t{0};
    switch (model.options.family) {
    case Family::binomial:
        sql << "1 / (1 + ";
        sql.exponential([&] {
            sql << (is_first ? "" : "-(");
            write_score(model, sql);
            sql << (is_first ? "" : ")");
        });
        sql << ")";
        break;
    case Family::poisson:
    case Family::gamma:
        sql.exponential([&] { write_score(model, sql); });
        break;
    default:
        write_score(model, sql);
    }
    return sql.take();
}

} // namespace btml::linear
