// Shows what goes on in a fold.
#pragma once

#include "core/base/run_context.hpp"

#include <string>

namespace btml::validation {

// Serves the outer context's host, whose memory it shares: nothing else may take of that while it lives.
class FoldContext : public RunContext {
  public:
    FoldContext(RunContext& outer, std::string fold)
        : RunContext(outer.memory().left(), outer.threads()), outer_(outer), fold_(std::move(fold)) {}

    bool keep_going() override { return outer_.keep_going(); }
    void progress(const char* phase, uint64_t done, uint64_t total) override {
        if (fraction() >= 0) outer_.reached(fraction());
        outer_.progress((fold_ + ": " + phase).c_str(), done, total);
    }
    void note(std::string_view text) override { outer_.note(fold_ + ": " + std::string(text)); }

  private:
    RunContext& outer_;
    const std::string fold_;
};

} // namespace btml::validation
