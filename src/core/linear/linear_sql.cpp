#include "core/linear/linear_sql.hpp"

namespace btml::linear {

namespace {

// Writes a number times how far it is from its mean. The sums of constants are those of Predictor.
void write_number_term(const FeatureTerms& terms, const Feature& feature, SqlText& sql) {
    if (terms.missing || !terms.number) sql << terms.otherwise();
    if (!terms.number) return;
    if (terms.missing) sql << " + ";
    sql << terms.number->estimate << " * (";
    write_number(feature, sql);
    sql << " - " << terms.number->mean << ")";
}

// NULL for an offset makes the score NULL.
void write_number_feature(const FeatureTerms& terms, const Feature& feature, SqlText& sql) {
    if (terms.is_offset()) return write_number(feature, sql);
    (sql << "CASE WHEN ").value(feature) << " IS NULL THEN "
                                         << (terms.missing ? terms.otherwise() + terms.missing->estimate : 0.0)
                                         << " ELSE ";
    write_number_term(terms, feature, sql);
    sql << " END";
}

void write_category_feature(const FeatureTerms& terms, const Feature& feature, SqlText& sql) {
    sql << "CASE";
    if (terms.missing)
        (sql << " WHEN ").value(feature) << " IS NULL THEN " << terms.otherwise() + terms.missing->estimate;
    for (const Column* const column : terms.categories) {
        if (!column) continue;
        sql << " WHEN ";
        write_in_categories(feature, std::span(&column->category, 1), sql);
        sql << " THEN " << terms.otherwise() + column->estimate;
    }
    sql << " ELSE " << terms.otherwise() << " END";
}

void write_score(const Model& model, SqlText& sql) {
    const std::vector<FeatureTerms> features = terms_of(model);
    sql << base_of(model);
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
