/*
 * What the MuJoCo tasks share: errors that come back as statuses and leave the process alive,
 * models that are parsed once.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "support.h"

static const char BALL[] = "<mujoco><worldbody><body name='ball'><freejoint/><geom "
                           "size='.1'/></body></worldbody></mujoco>";

static void go_wrong(void *context)
{
    mju_error("number %d", *(const int *)context);
}

static void go_wrong_inside(void *context)
{
    fails(mujoco_try(go_wrong, context), TCE_E_ENV, "number 7");
    mju_error("outer");
}

static void go_well(void *context)
{
    ++*(int *)context;
}

START_TEST(a_mujoco_error_is_a_status)
{
    const mjModel *model;
    int number = 7;
    ok(mujoco_model_open("ball", BALL, &model));
    fails(mujoco_try(go_wrong, &number), TCE_E_ENV, "MuJoCo: number 7");
    fails(mujoco_try(go_wrong_inside, &number), TCE_E_ENV, "MuJoCo: outer");
    ok(mujoco_try(go_well, &number));
    ck_assert_int_eq(number, 8);
    mujoco_model_close(model);
}
END_TEST

static void *fail_often(void *argument)
{
    int number = *(const int *)argument;
    char want[32];
    snprintf(want, sizeof want, "number %d", number);
    for (int i = 0; i < 1000; i++)
        if (mujoco_try(go_wrong, &number) != TCE_E_ENV || !strstr(tce_error_message(), want))
            return argument;
    return NULL;
}

START_TEST(each_thread_gets_its_own_error)
{
    enum { N_THREADS = 4 };
    const mjModel *model;
    pthread_t threads[N_THREADS];
    int numbers[N_THREADS];
    ok(mujoco_model_open("ball", BALL, &model));
    for (int i = 0; i < N_THREADS; i++) {
        numbers[i] = 100 + i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, fail_often, &numbers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    mujoco_model_close(model);
}
END_TEST

static void former(const char *message)
{
    (void)message;
}

START_TEST(a_model_is_shared_and_the_handlers_go_with_the_last_one)
{
    const mjModel *a, *b, *c;
    mju_user_error = former;
    ok(mujoco_model_open("ball", BALL, &a));
    ok(mujoco_model_open("ball", BALL, &b));
    ok(mujoco_model_open("other", BALL, &c));
    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_ne(a, c);
    ck_assert(mju_user_error != former);
    mujoco_model_close(a);
    mujoco_model_close(c);
    ck_assert_int_eq(b->nq, 7);
    ck_assert(mju_user_error != former);
    mujoco_model_close(b);
    ck_assert(mju_user_error == former);
}
END_TEST

START_TEST(a_bad_model_is_refused_with_mujocos_reason)
{
    const mjModel *model = NULL;
    int number;
    fails(mujoco_model_open("bad", "<mujoco><worldbody><bodi/></worldbody></mujoco>", &model),
          TCE_E_ENV, "bodi");
    fails(mujoco_model_open("empty", "", &model), TCE_E_ENV, "empty");
    ck_assert_ptr_null(model);
    ok(mujoco_model_open("ball", BALL, &model));
    fails(mujoco_find(model, mjOBJ_BODY, "bal", &number), TCE_E_ENV, "no body \"bal\"");
    ok(mujoco_find(model, mjOBJ_BODY, "ball", &number));
    ck_assert_int_eq(number, 1);
    mujoco_model_close(model);
}
END_TEST

START_TEST(a_warning_is_an_error_and_writes_no_file)
{
    const mjModel *model;
    mjData *data;
    ok(mujoco_model_open("ball", BALL, &model));
    ok(mujoco_data_create(model, &data));
    ok(mujoco_restart(model, data, NULL, NULL));
    ok(step_checked(model, data, 3));
    data->qvel[0] = 1e200;
    fails(step_checked(model, data, 1), TCE_E_ENV, "unstable");
    ok(mujoco_restart(model, data, NULL, NULL));
    ok(step_checked(model, data, 1));
    ck_assert_int_ne(access("MUJOCO_LOG.TXT", F_OK), 0);
    mj_deleteData(data);
    mujoco_model_close(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mujoco");
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, a_mujoco_error_is_a_status);
    tcase_add_test(errors, each_thread_gets_its_own_error);
    tcase_add_test(errors, a_bad_model_is_refused_with_mujocos_reason);
    tcase_add_test(errors, a_warning_is_an_error_and_writes_no_file);
    TCase *memory = test_case(suite, "memory", 0);
    tcase_add_test(memory, a_model_is_shared_and_the_handlers_go_with_the_last_one);

    return test_run(suite);
}
