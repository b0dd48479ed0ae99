#include "pg/bridge/settings.hpp"

#include "pg/bridge/guard.hpp"

extern "C" {
#include "optimizer/cost.h"
}

namespace btml::pg {

static constexpr int default_memory_limit_kb = 1024 * 1024;
static constexpr int max_threads = 256;

static int memory_limit_kb = default_memory_limit_kb;
static int threads = 0;

enum class Device { cpu, cuda };
static constexpr config_enum_entry devices[] = {{"cpu", static_cast<int>(Device::cpu), false},
                                                {"cuda", static_cast<int>(Device::cuda), false},
                                                {nullptr, 0, false}};
static int device = static_cast<int>(Device::cpu);

void define_settings() {
    DefineCustomIntVariable("btml.memory_limit", "Memory that one call of a btml function may hold.",
                            "Checked before the work starts and whenever a buffer grows; beyond it the call fails.",
                            &memory_limit_kb, default_memory_limit_kb, 64, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB,
                            nullptr, nullptr, nullptr);
    DefineCustomIntVariable("btml.threads", "Threads that one call of a btml function may use.",
                            "0 means max_parallel_workers_per_gather + 1. Results do not depend on it.", &threads, 0, 0,
                            max_threads, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomEnumVariable("btml.device", "Where exact kernel sums are evaluated: cpu or cuda.",
                             "Where no CUDA device can be used, a NOTICE says why and the CPU is.", &device,
                             static_cast<int>(Device::cpu), devices, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    btml_compat_reserve_guc_prefix("btml");
}

uint64_t memory_limit_bytes() {
    return static_cast<uint64_t>(memory_limit_kb) * 1024;
}

std::string cuda_library() {
    return static_cast<Device>(device) == Device::cuda ? std::string(pkglib_path) + "/btml_cuda" DLSUFFIX : "";
}

int thread_count() {
    return threads > 0 ? threads : std::min(max_parallel_workers_per_gather + 1, max_threads);
}

} // namespace btml::pg
