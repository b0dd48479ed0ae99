// An SQL function that says how unlike two values are.
#pragma once

#include "core/exemplar/exemplar_points.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg {

class SqlDissimilarity : public exemplar::DissimilarityFunction {
  public:
    // `signature` as for regprocedure: 'schema.function(type,type)'. Errors: PostgreSQL's own for what it cannot find
    // or the user may not call; wrong_type unless it takes two arguments of one type and returns a number.
    explicit SqlDissimilarity(const std::string& signature);

    Oid type() const { return type_; } // of the arguments

    // Errors: null_value for NULL, out_of_range for a number below 0, NaN or infinite, and what the function raises.
    double operator()(std::span<const std::byte> row, std::span<const std::byte> exemplar) override;

    // A value as operator() takes it; valid until the next call.
    std::span<const std::byte> bytes(Datum value);

  private:
    Datum datum(std::span<const std::byte> bytes) const;

    const std::string signature_;
    FmgrInfo function_;
    Oid type_ = InvalidOid, result_ = InvalidOid, collation_ = InvalidOid;
    int16 length_ = 0;
    bool by_value_ = false;
    std::vector<std::byte> bytes_;
    MemoryContext scratch_;
    unsigned calls_ = 0;
};

} // namespace btml::pg
