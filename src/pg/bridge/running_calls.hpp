// Progress of running btml functions, visible to other sessions through the view btml.progress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace btml::pg {

// What other sessions see of a call.
struct RunningCall {
    int pid;
    std::string function, phase;
    int64_t done, total; // total is 0 or less where the phase does not know it
    int64_t started;     // as a timestamptz
    std::optional<double> seconds_left;
};

// Returns the calls of all sessions.
std::vector<RunningCall> running_calls();

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
