/*
 * Fuzz target: hostile policy.safetensors, as `tce eval` and `tce export` open them. What is built
 * from a file predicts, makes a movement and is saved again without a sanitizer's complaint; the
 * file decides how much memory that takes, so there is a limit.
 */
#include <string.h>

#include <tce/tce.h>

#include "export/export_c.h"
#include "export/export_onnx.h"
#include "fuzz.h"

/* More than any policy in use needs. */
#define BUDGET ((size_t)64 << 20)

enum { N_TIMES = 3 };

/* Steps of an episode beyond which a path takes longer than an input should. */
#define MOST_STEPS 10000

static size_t granted;

static void *allocate(void *user, size_t size, size_t alignment)
{
    void *block = NULL;
    (void)user;
    if (size > BUDGET - granted || posix_memalign(&block, alignment, size) != 0)
        return NULL;
    granted += size;
    return block;
}

static void release(void *user, void *block)
{
    (void)user;
    free(block);
}

/* Mean, factor and movement of a context of zeros. */
static void use(tce_policy *policy, tce_mp *mp)
{
    const size_t O = tce_policy_n_obs(policy), P = tce_policy_n_dims(policy), D = tce_mp_n_dof(mp);
    const double times[N_TIMES] = { 0.1, 0.2, 0.3 }, init_time = 0.0;
    double *obs = calloc(O, sizeof *obs), *mean = calloc(P, sizeof *mean),
           *factor = calloc(P * P, sizeof *factor);
    double *start = calloc(2 * D, sizeof *start), *pos = calloc(N_TIMES * D, sizeof *pos),
           *vel = calloc(N_TIMES * D, sizeof *vel);
    if (obs && mean && factor && start && pos && vel &&
        tce_policy_predict(policy, 1, obs, mean, factor) == TCE_OK && tce_mp_n_params(mp) == P) {
        tce_mp_grid grid = TCE_INIT(tce_mp_grid);
        grid.E = 1;
        grid.T = N_TIMES;
        grid.n_time_rows = 1;
        grid.n_init_times = 1;
        grid.times = times;
        grid.init_time = &init_time;
        grid.init_pos = start;
        grid.init_vel = start + D;
        (void)!tce_mp_trajectory(mp, &grid, mean, pos, vel, NULL);
    }
    free(obs);
    free(mean);
    free(factor);
    free(start);
    free(pos);
    free(vel);
}

/* What was opened can be saved and opened again. */
static void save(const tce_policy *policy, const tce_mp *mp, const tce_hooks *hooks)
{
    tce_store *store = NULL;
    tce_policy *policy_again = NULL;
    tce_mp *mp_again = NULL;
    granted = 0;
    must(tce_store_create(NULL, &store) == TCE_OK);
    must(tce_policy_save(policy, store, "policy") == TCE_OK &&
         tce_mp_save(mp, store, "mp") == TCE_OK);
    must(tce_policy_create_from(store, "policy", NULL, hooks, &policy_again) == TCE_OK);
    granted = 0;
    must(tce_mp_create_from(store, "mp", hooks, &mp_again) == TCE_OK);
    must(tce_policy_n_weights(policy_again) == tce_policy_n_weights(policy));
    must(tce_mp_n_params(mp_again) == tce_mp_n_params(mp));
    tce_policy_free(policy_again);
    tce_mp_free(mp_again);
    tce_store_free(store);
}

/* As C and as an ONNX model, or why not. */
static void export(const tce_store *store)
{
    const onnx_texts texts = { "a,b", "rad" };
    int32_t shape[4] = { 0 };
    protobuf model = { 0 };
    FILE *out = fopen("/dev/null", "w");
    must(out != NULL);
    if (export_c(store, "arm", out) != TCE_OK)
        must(tce_error_message()[0] != '\0');
    fclose(out);
    if (tce_store_read(store, "input.shape", TCE_STORE_I32, 4, shape) == TCE_OK &&
        shape[2] <= MOST_STEPS && export_onnx(store, "arm", &texts, &model) != TCE_OK)
        must(tce_error_message()[0] != '\0');
    protobuf_free(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tce_store *store = NULL;
    tce_policy *policy = NULL;
    tce_mp *mp = NULL;
    tce_hooks hooks = TCE_INIT(tce_hooks);
    hooks.allocate = allocate;
    hooks.release = release;
    if (tce_store_parse(data, size, NULL, &store) != TCE_OK)
        return 0;

    granted = 0;
    const tce_status opened = tce_policy_create_from(store, "policy", NULL, &hooks, &policy);
    must(opened == TCE_OK ? policy != NULL : policy == NULL && tce_error_message()[0] != '\0');
    granted = 0;
    const tce_status made = tce_mp_create_from(store, "mp", &hooks, &mp);
    must(made == TCE_OK ? mp != NULL : mp == NULL && tce_error_message()[0] != '\0');
    if (policy && mp) {
        use(policy, mp);
        save(policy, mp, &hooks);
    }
    const char *outputs = tce_store_get_text(store, "outputs");
    if (policy && (mp || (outputs && strcmp(outputs, "actions") == 0)))
        export(store);
    tce_policy_free(policy);
    tce_mp_free(mp);
    tce_store_free(store);
    return 0;
}
