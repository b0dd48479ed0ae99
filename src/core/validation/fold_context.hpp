// Shows what goes on in a fold.
#pragma once

#include "core/base/run_context.hpp"

#include <string>

namespace btml::validation {

// Serves the outer context's host, whose memory and device it shares: nothing else may take of that while it lives.
// What the outer context holds is held here, so that errors name the limit that the user knows.
class FoldContext : public RunContext {
  public:
    FoldContext(RunContext& outer, std::string fold)
        : RunContext(outer.memory().limit(), outer.threads()),
          outer_(outer),
          outside_(memory(), "all folds", outer.memory().used()),
          fold_(std::move(fold)) {
        device() = outer.device();
    }
    ~FoldContext() override { outer_.device() = std::move(device()); }

    bool keep_going() override { return outer_.keep_going(); }
    void progress(const char* phase, uint64_t done, uint64_t total) override {
        if (fraction() >= 0) outer_.reached(fraction());
        outer_.progress((fold_ + ": " + phase).c_str(), done, total);
    }
    void note(std::string_view text) override { outer_.note(fold_ + ": " + std::string(text)); }

  private:
    RunContext& outer_;
    const Reservation outside_;
    const std::string fold_;
};

} // namespace btml::validation
