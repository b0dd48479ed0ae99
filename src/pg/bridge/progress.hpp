// Progress of running btml functions, visible to other sessions through the view btml.progress.
#pragma once

#include <cstdint>

namespace btml::pg {

// One line of the view while it lives. Without a free place in shared memory it does nothing.
class ProgressLine {
  public:
    explicit ProgressLine(const char* function);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    // Has update() say once, by a NOTICE, how many minutes are left, when the first seconds that are measured tell that
    // it is more than one.
    void tell_minutes() { tells_minutes_ = true; }
    // fraction: as of RunContext.
    void update(const char* phase, uint64_t done, uint64_t total, double fraction);

  private:
    void tell_seconds(double left);

    struct ProgressSlot* slot_;
    bool tells_minutes_ = false;
};

} // namespace btml::pg
