/*
 * Commands of several ranks: they compare themselves, then wait for orders.
 */
#include "commands/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "queue/signals.h"
#include "tools/blas.h"

#define WORDS_SIZE 512

static ranks *job;
static int has_left;

ranks *together(void)
{
    return job;
}

/* ---- what must be the same ------------------------------------------------------------------- */

/* The command line as one text, as much as a message shows. */
static void join_words(int argc, char **argv, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 1; i < argc && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 1 ? " " : "", argv[i]);
}

static tce_status compare(int argc, char **argv)
{
    char words[WORDS_SIZE];
    join_words(argc, argv, words, sizeof words);
    tce_status status = ranks_same(job, "the version of libtce", tce_version_string(),
                                   "install the same version on all machines");
    if (status == TCE_OK)
        status = ranks_same(job, "the command line", words, "start all ranks with the same one");
    if (status == TCE_OK)
        status = ranks_agree(job, blas_begin());
    if (status == TCE_OK)
        status = ranks_same(job, "the OpenBLAS kernels", blas_kernels(),
                            "results would differ; choose the same on all machines by the "
                            "environment variable OPENBLAS_CORETYPE, for instance Haswell for all "
                            "processors with AVX2");
    return status;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int32_t method_number(const settings *s)
{
    int32_t i = 0;
    while (METHODS[i] && METHODS[i] != s->table)
        i++;
    return METHODS[i] ? i : 0;
}

tce_status together_order(const order *o)
{
    order copy = *o;
    int32_t method = method_number(&o->s);
    const tce_status status = ranks_broadcast(job, &copy, sizeof copy);
    return status == TCE_OK ? ranks_broadcast(job, &method, sizeof method) : status;
}

static tce_status take_order(order *o)
{
    int32_t method = 0;
    tce_status status = ranks_broadcast(job, o, sizeof *o);
    if (status == TCE_OK)
        status = ranks_broadcast(job, &method, sizeof method);

    /* tables are at other addresses in another process */
    o->s.methods = METHODS;
    o->s.table = METHODS[method];
    return status;
}

static int asks_to_stop(void *context)
{
    (void)context;
    return signals_caught() ? RUN_STOP : RUN_GO_ON;
}

/* A silent part of a command. */
static void carry_out(const order *o)
{
    const run_observer observer = { .wish = asks_to_stop };
    run_result result;
    task t;
    if (o->kind == ORDER_TRAIN) {
        (void)!train_together(o, &observer, &result);
    } else if (o->kind == ORDER_QUEUE) {
        if (queue_together(o) != TCE_OK)
            (void)fail();
    } else if (o->kind == ORDER_BENCH) {
        const tce_status status = ranks_agree(job, task_open(&o->s, &t));
        t.ranks = job;
        if (status == TCE_OK)
            (void)!bench_together(o, &t);
        task_close(&t);
    }
}

/*
 * The ranks after the first. Returns the exit status, which is the first one's: mpirun of MPICH,
 * when it was told to end, may pass on that of any rank.
 */
static int follow(void)
{
    order o = { .kind = ORDER_TRAIN };
    signals_catch();
    signals_enter_folder();
    while (take_order(&o) == TCE_OK && o.kind != ORDER_END)
        carry_out(&o);
    return job->broken ? fail() : o.code;
}

/* ---- the job --------------------------------------------------------------------------------- */

int together_begin(int argc, char **argv)
{
    if (ranks_begin(&job) != TCE_OK)
        return fail();
    if (!job)
        return -1;
    ranks_watch(job, signals_caught);
    if (compare(argc, argv) != TCE_OK) {
        const int code = ranks_is_first(job) ? fail() : EXIT_FAILED;
        ranks_end(job);
        return code;
    }
    if (ranks_is_first(job))
        return -1;
    const int code = follow();
    ranks_end(job);
    return code;
}

static void leave(int code)
{
    const order end = { .kind = ORDER_END, .code = code };
    if (has_left)
        return;
    has_left = 1;
    if (job && !job->broken)
        (void)!together_order(&end);
    ranks_end(job);
    job = NULL;
}

void together_leave(void)
{
    leave(EXIT_FINE);
}

int together_end(int code)
{
    leave(code);
    return code;
}
