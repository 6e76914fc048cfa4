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
#include "model.h"
#include "step.h"
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
    ok(model_open_text("ball", BALL, &model));
    fails(mujoco_try(go_wrong, &number), TCE_E_ENV, "MuJoCo: number 7");
    fails(mujoco_try(go_wrong_inside, &number), TCE_E_ENV, "MuJoCo: outer");
    ok(mujoco_try(go_well, &number));
    ck_assert_int_eq(number, 8);
    model_close(model);
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
    ok(model_open_text("ball", BALL, &model));
    for (int i = 0; i < N_THREADS; i++) {
        numbers[i] = 100 + i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, fail_often, &numbers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    model_close(model);
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
    ok(model_open_text("ball", BALL, &a));
    ok(model_open_text("ball", BALL, &b));
    ok(model_open_text("other", BALL, &c));
    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_ne(a, c);
    ck_assert(mju_user_error != former);
    model_close(a);
    model_close(c);
    ck_assert_int_eq(b->nq, 7);
    ck_assert(mju_user_error != former);
    model_close(b);
    ck_assert(mju_user_error == former);
}
END_TEST

START_TEST(a_bad_model_is_refused_with_mujocos_reason)
{
    const mjModel *model = NULL;
    int number;
    fails(model_open_text("bad", "<mujoco><worldbody><bodi/></worldbody></mujoco>", &model),
          TCE_E_ENV, "bodi");
    fails(model_open_text("empty", "", &model), TCE_E_ENV, "empty");
    ck_assert_ptr_null(model);
    ok(model_open_text("ball", BALL, &model));
    fails(model_find(model, mjOBJ_BODY, "bal", &number), TCE_E_ENV, "no body \"bal\"");
    ok(model_find(model, mjOBJ_BODY, "ball", &number));
    ck_assert_int_eq(number, 1);
    model_close(model);
}
END_TEST

/* What is stepped, and how often. */
typedef struct steps {
    const mjModel *model;
    mjData *data;
    int n;
} steps;

static void take_steps(void *context)
{
    const steps *job = context;
    step_checked(job->model, job->data, job->n);
}

START_TEST(a_warning_is_an_error_and_writes_no_file)
{
    const mjModel *model;
    mjData *data;
    ok(model_open_text("ball", BALL, &model));
    ok(data_create(model, &data));
    steps job = { model, data, 3 };
    ok(mujoco_try(take_steps, &job));
    data->qvel[0] = 1e200;
    fails(mujoco_try(take_steps, &job), TCE_E_ENV, "unstable");
    mj_resetData(model, data);
    ok(mujoco_try(take_steps, &job));
    ck_assert_int_ne(access("MUJOCO_LOG.TXT", F_OK), 0);
    mj_deleteData(data);
    model_close(model);
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
