// Bytes of a streamed plan from anywhere: they decode, or are refused; what decodes is written as it was, and runs over
// rows of any values.
#include "core/relational/streamed/aggregate.hpp"

#include <cstdlib>
#include <memory>

using namespace btml;
using namespace btml::relational;

namespace {

// Three rows, whose values are small so that many of them join.
class FewRows : public RowSource {
  public:
    explicit FewRows(size_t columns) : columns_(columns) {}
    void next(RowBatch& batch) override {
        batch.rows = std::exchange(left_, 0U);
        for (size_t c = 0; c < columns_; c++)
            for (uint32_t row = 0; row < batch.rows; row++) {
                RowBatch::Column& column = batch.columns()[c];
                column.words[row] = (row + c) % 3;
                column.nulls[row] = (row + c) % 5 == 4;
                if (column.mantissas) column.mantissas[row] = row;
            }
    }

  private:
    size_t columns_;
    uint32_t left_ = 3;
};

void use(const StreamedPlan& plan) {
    QuietContext context(1, uint64_t{1} << 28);
    std::vector<std::unique_ptr<FewRows>> sources;
    std::vector<RowSource*> pointers;
    for (const StreamedTable& table : plan.tables) {
        sources.push_back(std::make_unique<FewRows>(table.columns.size()));
        pointers.push_back(sources.back().get());
    }
    StreamedAggregate aggregate(plan, pointers, context);
    try {
        aggregate.run();
        for (uint64_t group = 0; group < aggregate.groups(); group++)
            for (size_t q = 0; q < plan.tables.back().queries.size(); q++) aggregate.cell(group, q);
    } catch (const CannotDecide&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    QuietContext context;
    try {
        Reader reader(bytes);
        const StreamedPlan plan = StreamedPlan::read(reader);
        reader.finish();
        Writer writer(context);
        plan.write(writer);
        const auto again = writer.bytes();
        if (!std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) std::abort();
        if (plan.tables.size() <= 8) use(plan); // joins of more tables may have very many rows
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model) std::abort();
    }
    return 0;
}
