// Rows of scans as batches. Tables that have the same rows share a scan: while one of them reads it, the rows of those
// that are read later wait in memory.
#pragma once

#include "core/relational/streamed/aggregate.hpp"
#include "core/relational/streamed/held_rows.hpp"
#include "pg/bridge/dictionaries.hpp"
#include "pg/planner/factorized_plan.hpp"

#include <exception>
#include <optional>

namespace btml::pg::planner {

class ScanSource;

class SharedScan {
  public:
    // max_waiting: bytes of rows that may wait; where there are more, they are forgotten and the scan is repeated.
    SharedScan(PlanState* scan, MemoryContext scratch, uint64_t max_waiting)
        : scan_(scan), scratch_(scratch), max_waiting_(max_waiting) {}

    // Tables are read one after the other, each to its end, and each once.
    void add(ScanSource* reader) { waiting_.push_back(reader); }
    void begin(ScanSource* reader);
    // Fills the reader's batch, and those of the tables that wait.
    void next(ScanSource* reader);

  private:
    void fill(ScanSource* reader, std::exception_ptr* failure);
    bool read_row(ScanSource* reader, const TupleTableSlot* slot, std::exception_ptr* failure);
    void keep_waiting();

    PlanState* scan_;
    MemoryContext scratch_; // emptied after each row, whose values may be large
    const uint64_t max_waiting_;
    std::vector<ScanSource*> waiting_; // that have not begun
    bool used_ = false, done_ = false, keeps_ = true;
};

class ScanSource : public relational::RowSource {
  public:
    // columns: what the readings make.
    ScanSource(SharedScan& scan, const std::vector<ColumnReading>& readings, std::vector<KeyDictionary*> dictionaries,
               std::vector<relational::StreamedType> columns, MemoryBudget& memory);

    void next(relational::RowBatch& batch) override;
    // Gives back the memory of the rows that wait, which are not asked for any more.
    void forget();

  private:
    friend class SharedScan;

    void read(const TupleTableSlot* slot);
    void give_kept(relational::RowBatch& batch);

    SharedScan& scan_;
    const std::vector<ColumnReading>& readings_;
    const std::vector<KeyDictionary*> dictionaries_; // by column; null for those without
    const std::vector<relational::StreamedType> columns_;
    MemoryBudget& memory_;
    std::optional<relational::RowBatch> own_batch_; // while it waits
    relational::RowBatch* batch_ = nullptr;         // that is being filled
    std::optional<relational::HeldRows> kept_;      // the rows that waited
    uint64_t given_ = 0;                            // of those
    bool begun_ = false;
};

} // namespace btml::pg::planner
