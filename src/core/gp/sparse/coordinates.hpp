// What a smooth kernel compares of two points: numbers in standard deviations, and categories.
#pragma once

#include "core/data/feature.hpp"
#include "core/gp/tree/training_columns.hpp"

#include <optional>

namespace btml::gp {

class Coordinates {
  public:
    // Takes means and standard deviations of the rows' numbers in their usual range. Where all rows have the same,
    // nothing is compared. A number that is NULL in some rows counts as the mean, and whether it is NULL as a category.
    // Error out_of_range for an infinite number or NaN, which names the feature.
    Coordinates(const TrainingColumns& rows, const std::vector<Feature>& features, RunContext& context);

    size_t numbers() const { return numbers_; }
    size_t width() const { return width_; }
    size_t features() const { return columns_.size(); }

    // Writes the coordinates of a point whose features are as Predictor takes them. False where the point is like no
    // row: a number is not finite, or NULL where no row has NULL.
    bool find(std::span<const double> features, double* to) const;
    // Returns the first feature for which it is.
    std::optional<size_t> unlike(std::span<const double> features) const;
    // Writes those of a row that they were taken of.
    void read(const TrainingColumns& rows, size_t row, double* to) const;

    // The standard deviation that a number's coordinate is in.
    double deviation(size_t feature) const { return 1 / columns_[feature].inverse_deviation; }
    // The feature that a coordinate is of; a NULL's is its number's.
    std::vector<size_t> features_of_coordinates() const;

    void encode(Writer& writer) const;
    // Checks every number once: error corrupt_model.
    static Coordinates decode(Reader& reader, const std::vector<Feature>& features);

  private:
    struct Column {
        bool categorical = false;
        double mean = 0, inverse_deviation = 0; // 0: a number that is not compared
        uint32_t categories = 0;                // 0: a category that is not compared
        bool has_null = false;                  // of a number
        bool is_number() const { return !categorical && inverse_deviation > 0; }
        bool is_category() const { return categorical ? categories > 0 : has_null; }
    };

    Coordinates() = default;
    static bool is_unlike(const Column& column, double x);
    template <class ValueOf>
    bool find_by(const ValueOf& value_of, double* to) const;
    static Column column_of(const TrainingColumn& values, const Feature& feature, RunContext& context);
    void count();

    std::vector<Column> columns_; // by feature
    size_t numbers_ = 0, width_ = 0;
};

} // namespace btml::gp
