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

enum { N_METAWORLD = 50 };

static const struct {
    const char *task, *options;
} VARIANTS[] = {
    { "reacher5", NULL },
    { "point_via", NULL },
    { "swing", NULL },
    { "pendulum", NULL },
    { "pendulum", "grid=1" },
    { "context", NULL },
    { "context", "grid=1" },
    { "box_pushing_dense", NULL },
    { "box_pushing_dense", "random_start=0" },
    { "box_pushing_sparse", NULL },
    { "hopper_jump", NULL },
    { "hopper_jump", "dense=1" },
    { "hopper_jump", "markov=1" },
    { "table_tennis", NULL },
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

START_TEST(a_metaworld_task_keeps_the_contract_in_both_profiles)
{
    int n = 0;

    for (size_t i = 0; i < tce_env_library_n_tasks(task_library); i++) {
        const tce_env_vtable *task = tce_env_library_at(task_library, i);
        if (!is_metaworld(task) || n++ != _i)
            continue;
        task_inspect(task, "profile=2");
        task_inspect(task, "profile=3");
    }
    ck_assert_int_eq(n, N_METAWORLD);
}
END_TEST

START_TEST(no_task_is_left_out)
{
    for (size_t i = 0; i < tce_env_library_n_tasks(task_library); i++) {
        const tce_env_vtable *task = tce_env_library_at(task_library, i);
        int found = is_metaworld(task);
        for (size_t k = 0; k < N_VARIANTS; k++)
            found |= strcmp(VARIANTS[k].task, task->name) == 0;
        ck_assert_msg(found, "%s is not inspected", task->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inspect");
    TCase *property = task_case(suite, "property", TIMEOUT);

    tcase_add_loop_test(property, a_task_with_these_options_keeps_the_contract, 0, N_VARIANTS);
    tcase_add_loop_test(property, a_metaworld_task_keeps_the_contract_in_both_profiles, 0,
                        N_METAWORLD);
    tcase_add_test(property, no_task_is_left_out);

    return test_run(suite);
}
