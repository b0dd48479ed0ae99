// The RunContext of a function that runs in a PostgreSQL backend.
#pragma once

#include "core/base/run_context.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/bridge/running_calls.hpp"

namespace btml::pg {

class BackendContext : public RunContext {
  public:
    // function: what btml.progress shows; null for work that is too short to be shown. verbose: notes become INFO
    // messages, at most one a second. The run holds at most so many bytes, and no more than btml.memory_limit.
    explicit BackendContext(const char* function = nullptr, bool verbose = false, uint64_t max_bytes = UINT64_MAX);
    // Where work was shown, also gives the system the memory that it has freed.
    ~BackendContext() override;

    // See ProgressLine; of a call that is shown.
    void tell_minutes() {
        if (line_) line_->tell_minutes();
    }

    bool keep_going() override;
    void progress(const char* phase, uint64_t done, uint64_t total) override;
    void note(std::string_view text) override;

  private:
    std::optional<ProgressLine> line_;
    const bool verbose_;
    std::chrono::steady_clock::time_point last_note_{};
};

// Says by a NOTICE why a device that was asked for was of no use, where it was not.
void tell_device_failure(RunContext& context);

} // namespace btml::pg
