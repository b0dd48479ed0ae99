// The batches of a source on their way to a pass over them: where they are many, a second thread adds those that were
// read while the main thread, on which alone a source may be asked, reads the next.
#pragma once

#include "core/base/run_context.hpp"
#include "core/relational/streamed/row_batch.hpp"

#include <functional>

namespace btml::relational {

// Calls add(batch, context) for each batch of the source, one after the other and in their order, so that its result
// does not depend on threads; the context is that of the thread which it is called on. Calls read(rows) on the main
// thread after each batch that was read.
void for_each_batch(RowSource& source, const std::vector<StreamedType>& columns, RunContext& context,
                    const std::function<void(RowBatch& batch, RunContext& context)>& add,
                    const std::function<void(uint32_t rows)>& read);

} // namespace btml::relational
