// A generalised linear model: a value that knows its features by name.
#pragma once

#include "core/data/provenance.hpp"
#include "core/linear/linear_options.hpp"

#include <optional>
#include <span>

namespace btml::linear {

// What a column of the design is of its feature: the number, where NULL counts as the mean; 1 where the feature is
// NULL, if training rows had NULLs; or 1 where it is one category, not that of reference.
enum class ColumnKind : uint8_t { number, missing, category };

// Says why a column has no coefficient: its values were all equal, they follow from those of columns before it, or they
// are the offset, which is added to the score as it is, as if its coefficient were known to be 1.
enum class ColumnState : uint8_t { kept, constant, dependent, offset };

struct Column {
    uint32_t feature; // index into Model::features, in ascending order
    ColumnKind kind = ColumnKind::number;
    uint32_t category = 0; // the code, of a category
    ColumnState state = ColumnState::kept;
    double mean = 0;     // of training rows, by their weights
    double scale = 1;    // of a number, the standard deviation of training rows; 1 of zeros and ones
    double estimate = 0; // in the feature's units; 0 where it was dropped
    double std_error = 0;
};

// What a summary tells. Optional numbers are those that do not exist for the family, the data or a penalty.
struct Statistics {
    double weight = 0; // of the training rows, in sum
    double deviance = 0, null_deviance = 0;
    std::optional<double> r_squared, adjusted_r_squared; // of a gaussian; else the deviance explained, and nothing
    std::optional<double> dispersion; // the residual variance of a gaussian, Pearson's estimate of gamma, 1 of others
    std::optional<double> log_likelihood, aic;
    double degrees_of_freedom = 0; // rows less coefficients, of residuals
    uint32_t iterations = 0;
    uint64_t clusters = 0;                  // of rows, in robust errors; 0: none
    std::optional<double> holdout_deviance; // the mean of held-out rows
};

struct Model : Provenance {
    Options options;                           // the family is not automatic
    std::vector<std::string> labels;           // what 0 and 1 stand for; empty: the target is a number
    std::vector<uint32_t> references;          // by feature: the code of the category of reference; 0 of numbers
    std::vector<uint64_t> missing;             // by feature: training rows where it is NULL
    double centre = 0;                         // the linear predictor where every column has its mean
    double intercept = 0, intercept_error = 0; // the linear predictor where every column is 0
    std::vector<Column> columns;
    Statistics statistics;
    // The lower triangle, row by row, of the covariance of the centre and of estimate · scale of the columns that were
    // kept. Empty where there are no errors, and of more than max_covariance_columns with the intercept.
    std::vector<double> covariance;

    static constexpr size_t max_covariance_columns = 512;

    bool has_errors() const { return options.penalty == 0 && statistics.degrees_of_freedom > 0; }
    // Says whether a feature, the last one, is the offset.
    bool has_offset() const { return !columns.empty() && columns.back().state == ColumnState::offset; }
    // Says whether tests are by Student's t, since the dispersion is estimated.
    bool has_dispersion() const { return options.family == Family::gaussian || options.family == Family::gamma; }
    // Returns those of Student's t in tests and intervals: one less than clusters, where there are some; infinite
    // where tests are normal.
    double test_degrees_of_freedom() const;
    // Returns a column as a reader knows it: its feature, with its category where it has one.
    std::string name_of(const Column& column) const;
};

// What a feature adds to the linear predictor: columns that were dropped add nothing and are not here, nor is a number
// whose coefficient is 0. An offset must be given, and adds itself.
struct FeatureTerms {
    const Column* number = nullptr;
    const Column* missing = nullptr;
    std::vector<const Column*> categories = {}; // by their codes; null where there is none; empty without any
    double mean = 0;                            // of what zeros and ones add

    // Returns what zeros and ones add where none is 1, over what they add on average.
    double otherwise() const { return 0 - mean; } // is no −0
    bool is_empty() const { return !number && !missing && categories.empty(); }
    bool is_offset() const { return number && number->state == ColumnState::offset; }
};

// Returns one for each feature. They point into the model.
std::vector<FeatureTerms> terms_of(const Model& model);
// Returns what their sum begins with: the linear predictor where every column has its mean, and an offset is 0.
double base_of(const Model& model);

void encode(const Model& model, Writer& writer);
// Checks every number once: error corrupt_model.
Model decode(Reader& reader);

} // namespace btml::linear
