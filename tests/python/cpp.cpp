/*
 * Every class of tce.hpp once:   program TASKS STORE   (a task library, and a file to write)
 */
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tce.hpp>

static void require(bool ok, const char *what)
{
    if (!ok)
        throw std::runtime_error(what);
}

static void errors()
{
    try {
        tce::mp_options o;
        o.tau = -1.0;
        tce::mp mp(o);
        require(false, "tau = -1 was accepted");
    } catch (const tce::error &e) {
        require(e.status() == TCE_E_VALUE, "status");
        require(e.message().find("tau") != std::string::npos, "message");
        require(std::string(e.what()).find("TCE_E_VALUE") == 0, "what");
    }
    tce::pool pool(2);
    try {
        pool.run(10, 2, [](size_t chunk, size_t, size_t, int32_t) {
            if (chunk == 3)
                throw std::runtime_error("work gave up");
        });
        require(false, "an exception was lost");
    } catch (const tce::error &e) {
        require(e.message().find("work gave up") != std::string::npos, "message of a worker");
    }
}

static tce::mp primitive()
{
    tce::mp_options o;
    o.n_dof = 2;
    o.n_basis = 3;
    o.dt = 0.02;
    return tce::mp(o);
}

static void primitives()
{
    tce::mp mp = primitive();
    tce::mp other(std::move(mp));
    require(!mp, "moved from");
    mp = std::move(other);
    require(mp.n_params() == 8 && mp.n_dof() == 2 && mp.n_columns() == 4, "sizes");
    require(mp.options().n_basis == 3 && mp.options().dt == 0.02, "options");

    const tce::doubles params(8, 0.5), times = { 0.0, 0.5, 1.0 }, start = { 1.0, 2.0 };
    tce::doubles pos, vel, point, speed;
    mp.trajectory(params, times, 0.0, start, {}, pos, vel);
    require(pos.size() == 6 && std::fabs(pos[0] - 1.0) < 1e-12 && std::fabs(pos[1] - 2.0) < 1e-12,
            "start");
    mp.query(0.5, params, 0.0, start, {}, point, speed);
    require(std::fabs(point[0] - pos[2]) < 1e-12 && std::fabs(speed[1] - vel[3]) < 1e-11, "query");
    try {
        mp.query(0.5, tce::doubles(7), 0.0, {}, {}, point, speed);
        require(false, "seven parameters were accepted");
    } catch (const tce::error &e) {
        require(e.status() == TCE_E_SHAPE, "shape");
    }

    const tce::doubles fitted = mp.fit({ 0.0, 0.25, 0.5, 0.75, 1.0 }, tce::doubles(10, 1.0), 1e-6);
    require(fitted.size() == 8, "fit");

    tce::mp_plan a, b;
    a.mp = b.mp = mp.get();
    a.params = params.data();
    b.params = fitted.data();
    tce::blend(a, b, 0.2, 0.8, times.size(), times.data(), pos.data(), vel.data());
}

static void objective()
{
    const tce::mp mp = primitive();
    const size_t P = mp.n_params(), T = 10;
    tce::doubles times(T), L(P * P), mean(P), pos, vel;
    for (size_t t = 0; t < T; t++)
        times[t] = 0.1 * static_cast<double>(t + 1);
    for (size_t i = 0; i < P; i++)
        L[i * P + i] = 1.0;
    mp.trajectory(mean, times, 0.0, {}, {}, pos, vel);

    tce::segment_options o;
    o.mp = mp.get();
    o.max_steps = static_cast<int32_t>(T);
    o.max_pairs = 2;
    tce::segment segment(o);
    const int32_t pairs[] = { 0, 4, 4, 9 };
    const double start = 0.0;
    segment.set_pairs(1, T, times.data(), &start, 2, pairs);
    tce::doubles log_prob(2), advantages = { 1.0, 2.0 }, d_mean(P), d_L(P * P);
    tce::segment_paths paths;
    paths.E = 1;
    paths.positions = pos.data();
    paths.mean = mean.data();
    paths.L = L.data();
    paths.out_log_prob = log_prob.data();
    segment.log_prob(paths);
    paths.log_prob_old = log_prob.data();
    paths.advantages = advantages.data();
    paths.out_log_prob = nullptr;
    paths.out_d_mean = d_mean.data();
    paths.out_d_L = d_L.data();
    const tce::returns_stats stats = segment.surrogate(paths);
    require(std::fabs(stats.loss + 1.5) < 1e-12, "loss");

    tce::trpl_options t;
    t.dim = static_cast<int32_t>(P);
    tce::trpl trpl(t);
    const tce::doubles far(P, 3.0);
    tce::doubles out_mean(P), out_L(P * P);
    tce::trpl_bounds bounds;
    bounds.mean = 0.05;
    bounds.cov = 0.0005;
    trpl.project(1, far.data(), L.data(), mean.data(), L.data(), bounds, out_mean.data(),
                 out_L.data());
    require(std::fabs(0.5 * out_mean[0] * out_mean[0] * static_cast<double>(P) - 0.05) < 1e-9,
            "mean bound");
    require(out_L == L, "covariance inside the bound");
    trpl.backward(1, d_mean.data(), d_L.data(), out_mean.data(), out_L.data());
    require(trpl.regression_add(1, far.data(), L.data(), 1.0, true, d_mean.data(), d_L.data()) >
                0.0,
            "regression");
}

static void networks(const std::string &path)
{
    tce::random random(1);
    const int32_t hidden[] = { 8 };
    const tce::adam_options adam;

    tce::net_options n;
    n.n_in = 2;
    n.n_hidden = 1;
    n.hidden = hidden;
    n.max_batch = 4;
    tce::net net(n);
    net.start(random);
    tce::doubles x(8, 0.5), target(4, 1.0), out(4);
    const double first = net.pass_mse(4, x.data(), target.data());
    for (int i = 0; i < 200; i++) {
        net.pass_mse(4, x.data(), target.data());
        net.adam_step(adam);
    }
    require(net.pass_mse(4, x.data(), target.data()) < first, "training");
    require(net.gradient().size() == net.n_weights() && net.gradient_norm() >= 0.0, "gradient");

    tce::policy_options p;
    p.n_obs = 2;
    p.n_dims = 3;
    p.max_batch = 4;
    tce::policy policy(p);
    policy.start(random);
    tce::doubles mean(12), L(9), again(12);
    policy.predict(4, x.data(), mean.data(), L.data());
    policy.backward(4, mean.data(), L.data());
    require(policy.gradient_norm() > 0.0, "norm");
    policy.adam_step(adam);

    tce::normaliser_options c;
    c.n_columns = 2;
    tce::normaliser normaliser(c);
    normaliser.update(4, x.data());
    normaliser.apply(4, x.data(), x.data());
    tce::doubles work(net.work_size(4)), outside(out.size());
    net.forward(4, x.data(), out.data());
    net.evaluate(4, x.data(), work.data(), outside.data());
    require(outside == out, "evaluate");

    tce::store store;
    store.put("x", x);
    store.put_text("note", "from C++");
    policy.save(store, "policy");
    store.save(path);
    const tce::store loaded = tce::store::load(path);
    require(loaded.read("x") == x && loaded.text("note") == "from C++" &&
                loaded.n_arrays() == store.n_arrays(),
            "store");
    tce::policy copy(loaded, "policy", p);
    policy.predict(4, x.data(), mean.data(), L.data());
    tce::doubles room(copy.work_size(4));
    copy.mean(4, x.data(), room.data(), again.data());
    require(copy.scale_size() == 9, "scale");
    require(mean == again, "policy from a file");
}

static void environments(const std::string &path)
{
    const tce::env_library library(path);
    tce::pool pool(2);
    tce::rollout_options o;
    o.vtable = library.find("point");
    o.n_envs = 3;
    o.pool = pool.get();
    tce::rollout rollout(o);
    const size_t O = static_cast<size_t>(rollout.spec().n_obs),
                 D = static_cast<size_t>(rollout.spec().n_dof), T = 5;
    tce::doubles obs(3 * O), pos(3 * D), vel(3 * D), path_pos(3 * T * D), path_vel(3 * T * D),
        rewards(3 * T);
    rollout.reset(3, 0, obs.data(), pos.data(), vel.data());
    tce::rollout_paths paths;
    paths.rewards = rewards.data();
    rollout.run(3, T, path_pos.data(), path_vel.data(), paths);
    require(rewards[0] < 0.0 && rollout.status(2) == TCE_OK && rollout.message(2).empty(),
            "rollout");
    try {
        library.find("nothing");
        require(false, "a task that is not there was found");
    } catch (const tce::error &e) {
        require(e.status() == TCE_E_NOT_FOUND, "not found");
    }
}

int main(int argc, char **argv)
{
    try {
        require(argc == 3, "program TASKS STORE");
        tce_blas_set_threads(1);
        errors();
        primitives();
        objective();
        networks(argv[2]);
        environments(argv[1]);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
