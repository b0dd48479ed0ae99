// Features by name from rows of any type.
#pragma once

#include "core/data/feature.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/values/number_array.hpp"

namespace btml::pg {

// Finds the codes of categories.
class CategoryCodes {
  public:
    CategoryCodes() = default;
    // Refers to the features.
    explicit CategoryCodes(const std::vector<Feature>& features);

    // Returns −1 for a category that the feature does not have.
    double find(size_t feature, std::string_view category) const;

  private:
    std::vector<std::unordered_map<std::string_view, double>> codes_; // by feature
};

class RecordReader {
  public:
    // All must live as long as the reader; nobody else may use the memory context.
    RecordReader(const std::vector<Feature>& features, const CategoryCodes& codes, MemoryContext context)
        : features_(features), codes_(codes), context_(context) {}

    // values[i] becomes the value of features[i] as boosting::Predictor takes it: a number, the code of a category (−1
    // for one that the model does not know) or null_number. Errors undefined_column, duplicate_column, wrong_type, and
    // those of read_vector.
    // What was found out about a row type is kept for the next row of the same command: others may have altered it.
    void read(Datum record, std::vector<double>& values);

    // Returns what the column of features[i] was in the last row: a category, or else the text that the session writes;
    // nothing for NULL. The row must still be there.
    std::optional<std::string> text(size_t i);

  private:
    // Says where a feature is in the row, and how it is read.
    struct Attribute {
        int position; // from 0
        bool categorical;
        NumberKind number;
        PGFunction time_cast; // null: none
        LabelRule label;
        ArrayRule array;                            // of elements
        std::unordered_map<Oid, double> enum_codes; // found so far
    };

    void learn(Oid type, int32 typmod);
    double category(size_t feature, Datum value);
    double number(size_t feature, Datum value);
    void read_elements(size_t first, std::span<double> values);

    const std::vector<Feature>& features_;
    const CategoryCodes& codes_;
    const MemoryContext context_; // holds what is known of the row type
    Oid type_ = InvalidOid;
    int32 typmod_ = -1;
    CommandId command_ = InvalidCommandId;
    TupleDesc columns_ = nullptr;
    std::vector<Attribute> attributes_; // of the features
    std::vector<double> elements_;      // of the array read last
    std::vector<Datum> values_;
    std::unique_ptr<bool[]> nulls_;
};

} // namespace btml::pg
