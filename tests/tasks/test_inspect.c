/*
 * Every task of the project keeps the contract of a task, as tce_env_inspect and `tce tasks
 * --check` look at it: Metaworld's in both profiles, the others with the options that change how
 * their episodes run and end.
 */
#include <check.h>
#include <string.h>

#include <tce/env.h>

#include "support.h"
#include "task_suite.h"

/* Seconds a test may take: a model to compile where there is no cache yet. */
#define TIMEOUT 120

enum { N_METAWORLD = 50, MOST_TASKS = 80 };

/* Options that change how episodes run and end; without options every task is inspected. */
static const struct {
    const char *task, *options;
} VARIANTS[] = {
    { "pendulum", "grid=1" },
    { "context", "grid=1" },
    { "box_pushing_dense", "random_start=0" },
    { "hopper_jump", "dense=1" },
    { "hopper_jump", "markov=1" },
    { "table_tennis", "whole_path=1" },
    { "table_tennis", "markov=1" },
    { "table_tennis", "terminal=1" },
    { "table_tennis", "terminal=1 whole_path=0" },
};

enum { N_VARIANTS = sizeof VARIANTS / sizeof VARIANTS[0] };

static int is_metaworld(const tce_env_vtable *task)
{
    return strncmp(task->name, "metaworld_", 10) == 0;
}

START_TEST(a_task_with_these_options_keeps_the_contract)
{
    task_inspect(task_find(VARIANTS[_i].task), VARIANTS[_i].options);
}
END_TEST

START_TEST(every_task_keeps_the_contract)
{
    const tce_env_vtable *task = tce_env_library_at(task_library, (size_t)_i);
    if (!task)
        return;
    if (is_metaworld(task))
        task_inspect(task, "profile=2");
    task_inspect(task, is_metaworld(task) ? "profile=3" : NULL);
}
END_TEST

START_TEST(no_task_is_left_out)
{
    const size_t n = tce_env_library_n_tasks(task_library);
    int n_metaworld = 0;

    for (size_t i = 0; i < n; i++)
        n_metaworld += is_metaworld(tce_env_library_at(task_library, i));
    ck_assert_int_eq(n_metaworld, N_METAWORLD);
    ck_assert_uint_le(n, MOST_TASKS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inspect");
    TCase *property = task_case(suite, "property", TIMEOUT);

    tcase_add_loop_test(property, a_task_with_these_options_keeps_the_contract, 0, N_VARIANTS);
    tcase_add_loop_test(property, every_task_keeps_the_contract, 0, MOST_TASKS);
    tcase_add_test(property, no_task_is_left_out);

    return test_run(suite);
}
