// Rows of scans as batches. Tables that have the same rows share a scan: while one of them reads it, the columns that
// the others read are kept in memory, each once.
#pragma once

#include "core/relational/streamed/aggregate.hpp"
#include "pg/planner/factorized_plan.hpp"
#include "pg/source/dictionaries.hpp"

#include <exception>

namespace btml::pg::planner {

class ScanSource;

class SharedScan {
  public:
    // computed: expressions (Expr*) over the scan's rows, whose values follow those of a row. max_kept: bytes of rows
    // that may be kept; where there are more, the scan is repeated. Allocates in the current memory context.
    SharedScan(PlanState* scan, List* computed, MemoryContext scratch, MemoryBudget& memory, uint64_t max_kept);

    // Tables are read one after the other, each to its end, and each once.
    void add(ScanSource* reader) { waiting_.push_back(reader); }
    void next(ScanSource* reader, relational::RowBatch& batch);
    // Gives back the memory of rows that were kept, which nobody asks for any more.
    void forget() { kept_.clear(); }

  private:
    // A column of a batch that is being filled.
    struct Target {
        const ColumnReading* reading;
        KeyDictionary* dictionary;
        relational::RowBatch::Column column;
    };

    void begin(ScanSource* reader);
    void keep(const ScanSource* reader);
    int kept_column(const ColumnReading& reading) const;
    void show_kept(const ScanSource* reader, const relational::RowBatch& kept, relational::RowBatch& batch) const;
    void read(ScanSource* reader, relational::RowBatch& batch);
    void fill(const std::vector<Target>& targets, uint32_t* rows, std::exception_ptr* failure);
    void compute(TupleTableSlot* slot);
    static int64_t form_word(Datum value, const Target& to);
    void read_value(const TupleTableSlot* slot, const Target& to, uint32_t row) const;
    bool read_row(const TupleTableSlot* slot, const std::vector<Target>& targets, uint32_t row,
                  std::exception_ptr* failure) const;

    PlanState* scan_;
    List* computed_ = NIL; // of ExprState*
    ExprContext* expressions_ = nullptr;
    std::vector<NullableDatum> values_; // of the row at hand, by expression
    bool computing_ = false;
    MemoryContext scratch_; // is emptied after each row, whose values may be large
    MemoryBudget& memory_;
    const uint64_t max_kept_;
    std::vector<ScanSource*> waiting_; // that have not begun
    std::vector<Target> kept_columns_; // what those read; their columns are those of no batch
    std::vector<relational::StreamedType> kept_types_;
    std::vector<std::unique_ptr<relational::RowBatch>> kept_; // null: given to the last table that reads them
    bool used_ = false, done_ = false, keeps_ = false;
};

class ScanSource : public relational::RowSource {
  public:
    // columns: what the readings make.
    ScanSource(SharedScan& scan, const std::vector<ColumnReading>& readings, std::vector<KeyDictionary*> dictionaries,
               std::vector<relational::StreamedType> columns);

    void next(relational::RowBatch& batch) override;
    bool is_in_memory() const override { return reads_kept_; }

  private:
    friend class SharedScan;

    SharedScan& scan_;
    const std::vector<ColumnReading>& readings_;
    const std::vector<KeyDictionary*> dictionaries_; // by column; null for those without
    const std::vector<relational::StreamedType> columns_;
    bool begun_ = false;
    bool reads_kept_ = false;
    size_t given_ = 0; // of the batches that were kept
};

} // namespace btml::pg::planner
