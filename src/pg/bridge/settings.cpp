#include "pg/bridge/settings.hpp"

#include "pg/bridge/guard.hpp"

extern "C" {
#include "access/parallel.h"
#include "optimizer/cost.h"
}

namespace btml::pg {

static constexpr int default_memory_limit_kb = 1024 * 1024, min_memory_limit_kb = 64;
static constexpr int default_model_cache_kb = 64 * 1024;
static constexpr int max_threads = 256;

static int memory_limit_kb = default_memory_limit_kb;
static int max_memory_limit_kb = MAX_KILOBYTES;
static int model_cache_kb = default_model_cache_kb;
static int threads = 0;

enum class Device { cpu, cuda };
static constexpr config_enum_entry devices[] = {{"cpu", static_cast<int>(Device::cpu), false},
                                                {"cuda", static_cast<int>(Device::cuda), false},
                                                {nullptr, 0, false}};
static int device = static_cast<int>(Device::cpu);

static constexpr config_enum_entry factorize_values[] = {{"off", static_cast<int>(Factorize::off), false},
                                                         {"exact", static_cast<int>(Factorize::exact), false},
                                                         {"on", static_cast<int>(Factorize::on), false},
                                                         {nullptr, 0, false}};
static int factorize = static_cast<int>(Factorize::off);
static bool force_factorize = false;

// Refuses what somebody asks for now. What a file or a role has is cut down where it is used, since the cap may have
// come later.
static bool check_memory_limit(int* kb, void**, GucSource source) {
    if (*kb <= max_memory_limit_kb || source < PGC_S_INTERACTIVE || InitializingParallelWorker) return true;
    GUC_check_errdetail("btml.max_memory_limit is %d kB.", max_memory_limit_kb);
    return false;
}

void define_settings() {
    DefineCustomIntVariable("btml.max_memory_limit", "The most that btml.memory_limit and btml.model_cache count for.",
                            "Only superusers can change it.", &max_memory_limit_kb, MAX_KILOBYTES, min_memory_limit_kb,
                            MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("btml.memory_limit", "Memory that one call of a btml function may hold.",
                            "Checked before the work starts and whenever a buffer grows; beyond it the call fails.",
                            &memory_limit_kb, default_memory_limit_kb, min_memory_limit_kb, MAX_KILOBYTES, PGC_USERSET,
                            GUC_UNIT_KB, check_memory_limit, nullptr, nullptr);
    DefineCustomIntVariable(
        "btml.model_cache", "Memory in which a session keeps models ready to predict.",
        "Those used last stay from one statement to the next; a lower value counts from the next model on.",
        &model_cache_kb, default_model_cache_kb, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("btml.threads", "Threads that one call of a btml function may use.",
                            "0 means max_parallel_workers_per_gather + 1. Results do not depend on it.", &threads, 0, 0,
                            max_threads, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomEnumVariable(
        "btml.device", "Where exact kernel sums and the sums over rows of smooth kernels are evaluated: cpu or cuda.",
        "Where no CUDA device can be used, a NOTICE says why and the CPU is.", &device, static_cast<int>(Device::cpu),
        devices, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomEnumVariable(
        "btml.factorize_aggregates", "Whether aggregates over joins are computed without the join: off, exact or on.",
        "exact: where every byte of the result is that of the ordinary plan. on: also for sums, "
        "averages and extrema of floats, whose last digits depend on the order of rows.",
        &factorize, static_cast<int>(Factorize::off), factorize_values, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("btml.force_factorize_aggregates", "Factorises aggregates whatever it costs; for tests.",
                             nullptr, &force_factorize, false, PGC_USERSET, GUC_NOT_IN_SAMPLE, nullptr, nullptr,
                             nullptr);
    MarkGUCPrefixReserved("btml");
}

uint64_t memory_limit_bytes() {
    return static_cast<uint64_t>(std::min(memory_limit_kb, max_memory_limit_kb)) * 1024;
}

uint64_t model_cache_bytes() {
    return static_cast<uint64_t>(std::min(model_cache_kb, max_memory_limit_kb)) * 1024;
}

Factorize factorize_aggregates() {
    return static_cast<Factorize>(factorize);
}

bool force_factorize_aggregates() {
    return force_factorize;
}

std::string cuda_library() {
    return static_cast<Device>(device) == Device::cuda ? std::string(pkglib_path) + "/btml_cuda" DLSUFFIX : "";
}

int thread_count() {
    return threads > 0 ? threads : std::min(max_parallel_workers_per_gather + 1, max_threads);
}

} // namespace btml::pg
