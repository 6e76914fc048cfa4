/*
 * tce.hpp: libtce for C++11. One class a handle, freed by its destructor; a status that is not
 * TCE_OK becomes tce::error.
 *
 * Classes are move-only and hold nothing but the C handle: get() gives it to any C function.
 * Options are the C structs with their defaults filled in. Arrays are pointers as in C; std::vector
 * overloads where a size can be checked. Handles that use a pool or a primitive must not outlive
 * it. Header only: link with -ltce.
 *
 *     tce::mp_options o;  o.n_dof = 7;  o.tau = 2.0;
 *     tce::mp mp(o);
 *     std::vector<double> params(mp.n_params()), pos(7), vel(7);
 *     mp.query(0.5, params, 0.0, {}, {}, pos, vel);
 */
#ifndef TCE_HPP
#define TCE_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tce/tce.h>

namespace tce
{

using std::int32_t;
using std::size_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;
using doubles = std::vector<double>;

/* ---- errors ---------------------------------------------------------------------------------- */

/* What a failing call returned and said. */
class error : public std::exception
{
public:
    error(tce_status status, const std::string &message)
        : status_(status), message_(message),
          what_(std::string(tce_status_name(status)) + ": " + message)
    {
    }

    tce_status status() const noexcept { return status_; }
    const char *name() const noexcept { return tce_status_name(status_); }
    const std::string &message() const noexcept { return message_; }
    const char *what() const noexcept override { return what_.c_str(); }

private:
    tce_status status_;
    std::string message_;
    std::string what_;
};

/* Throws when a call in this thread failed. */
inline void check(tce_status status)
{
    if (status != TCE_OK)
        throw error(status, tce_error_message());
}

namespace detail
{

inline void need(bool ok, const char *what)
{
    if (!ok)
        throw error(TCE_E_SHAPE, what);
}

/* NULL for an empty vector: "zeros" or "not wanted" in the C API. */
template <class T> const T *in(const std::vector<T> &x)
{
    return x.empty() ? nullptr : x.data();
}

/* A C options struct with its defaults. */
template <class Struct, void (*Init)(Struct *, size_t)> struct options : Struct {
    options() { Init(this, sizeof(Struct)); }
};

/* A C struct without defaults: its size, and zeros. */
template <class Struct> struct sized : Struct {
    sized() : Struct() { this->struct_size = sizeof(Struct); }
};

/* A C struct that is not an options struct, empty except for its size. */
template <class Struct> struct plain : Struct {
    plain() : Struct(TCE_INIT(Struct)) {}
};

/* A C handle: created by derived classes, freed once. */
template <class T, void (*Free)(T *)> class handle
{
public:
    handle() noexcept = default;
    explicit handle(T *owned) noexcept : pointer_(owned) {}
    ~handle() { Free(pointer_); }
    handle(handle &&other) noexcept : pointer_(other.release()) {}
    handle &operator=(handle &&other) noexcept
    {
        if (this != &other) {
            Free(pointer_);
            pointer_ = other.release();
        }
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;

    T *get() const noexcept { return pointer_; }
    explicit operator bool() const noexcept { return pointer_ != nullptr; }
    T *release() noexcept
    {
        T *owned = pointer_;
        pointer_ = nullptr;
        return owned;
    }

protected:
    T *pointer_ = nullptr;
};

} // namespace detail

using pool_options = detail::options<tce_pool_options, tce_pool_options_init>;
using mp_options = detail::options<tce_mp_options, tce_mp_options_init>;
using mp_grid = detail::sized<tce_mp_grid>;
using mp_plan = detail::sized<tce_mp_plan>;
using gauss = detail::sized<tce_gauss>;
using trpl_options = detail::options<tce_trpl_options, tce_trpl_options_init>;
using trpl_bounds = detail::sized<tce_trpl_bounds>;
using segment_options = detail::options<tce_segment_options, tce_segment_options_init>;
using returns_stats = detail::sized<tce_returns_stats>;
using segment_steps = detail::sized<tce_segment_steps>;
using segment_paths = detail::sized<tce_segment_paths>;
using net_options = detail::options<tce_net_options, tce_net_options_init>;
using adam_options = detail::options<tce_adam_options, tce_adam_options_init>;
using policy_options = detail::options<tce_policy_options, tce_policy_options_init>;
using normaliser_options = detail::options<tce_normaliser_options, tce_normaliser_options_init>;
using rollout_options = detail::options<tce_rollout_options, tce_rollout_options_init>;
using rollout_paths = detail::plain<tce_rollout_paths>;
using store_array = detail::plain<tce_store_array>;

/* ---- random streams and threads -------------------------------------------------------------- */

/* A random stream, keyed by what it is for. A value: copies continue with the same numbers. */
class random
{
public:
    explicit random(uint64_t seed = 0, uint64_t purpose = 0, uint64_t a = 0, uint64_t b = 0)
    {
        tce_random_start(&state_, seed, purpose, a, b);
    }

    uint64_t bits() { return tce_random_bits(&state_); }
    double uniform() { return tce_random_uniform(&state_); }
    double normal()
    {
        double out;
        tce_random_normals(&state_, 1, &out);
        return out;
    }
    void normals(doubles &out) { tce_random_normals(&state_, out.size(), out.data()); }
    uint64_t below(uint64_t n) { return tce_random_below(&state_, n); }
    std::vector<uint32_t> permutation(size_t n)
    {
        std::vector<uint32_t> out(n);
        tce_random_permutation(&state_, n, out.data());
        return out;
    }
    tce_random *get() noexcept { return &state_; }

private:
    tce_random state_;
};

/* Threads for the handles that take a pool in their options. */
class pool : public detail::handle<tce_pool, tce_pool_free>
{
public:
    explicit pool(int32_t n_threads = 0)
    {
        pool_options o;
        o.n_threads = n_threads;
        check(tce_pool_create(&o, nullptr, &pointer_));
    }

    int32_t n_threads() const { return tce_pool_n_threads(pointer_); }

    /* work(chunk, begin, end, worker) for every chunk; an exception from it is thrown here. */
    void run(size_t n_items, size_t chunk_size,
             const std::function<void(size_t, size_t, size_t, int32_t)> &work)
    {
        check(tce_pool_run(pointer_, n_items, chunk_size, call,
                           const_cast<void *>(static_cast<const void *>(&work))));
    }

private:
    static tce_status call(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
    {
        using function = std::function<void(size_t, size_t, size_t, int32_t)>;
        try {
            (*static_cast<const function *>(context))(chunk, begin, end, worker);
            return TCE_OK;
        } catch (const error &fault) {
            return tce_fail(fault.status(), "%s", fault.message().c_str());
        } catch (const std::exception &fault) {
            return tce_fail(TCE_E_ARGUMENT, "work failed in chunk %zu: %s", chunk, fault.what());
        } catch (...) {
            return tce_fail(TCE_E_ARGUMENT, "work failed in chunk %zu", chunk);
        }
    }
};

/* ---- store ----------------------------------------------------------------------------------- */

/* Named arrays and texts in one file. */
class store : public detail::handle<tce_store, tce_store_free>
{
public:
    store() { check(tce_store_create(nullptr, &pointer_)); }

    static store load(const std::string &path)
    {
        tce_store *out = nullptr;
        check(tce_store_load(path.c_str(), nullptr, &out));
        return store(out);
    }
    static store parse(const void *bytes, size_t size)
    {
        tce_store *out = nullptr;
        check(tce_store_parse(bytes, size, nullptr, &out));
        return store(out);
    }
    void save(const std::string &path) const { check(tce_store_save(pointer_, path.c_str())); }

    void put(const std::string &name, const doubles &x)
    {
        const size_t shape[1] = { x.size() };
        check(tce_store_put(pointer_, name.c_str(), TCE_STORE_F64, 1, shape, detail::in(x)));
    }
    void put(const std::string &name, int32_t type, const std::vector<size_t> &shape,
             const void *data)
    {
        check(tce_store_put(pointer_, name.c_str(), type, static_cast<int32_t>(shape.size()),
                            detail::in(shape), data));
    }
    void put_text(const std::string &name, const std::string &text)
    {
        check(tce_store_put_text(pointer_, name.c_str(), text.c_str()));
    }
    store_array get_array(const std::string &name) const
    {
        store_array out;
        check(tce_store_get(pointer_, name.c_str(), &out));
        return out;
    }
    /* All elements of an F64 or F32 array. */
    doubles read(const std::string &name) const
    {
        const store_array array = get_array(name);
        size_t n = 1;
        for (int32_t i = 0; i < array.rank; i++)
            n *= array.shape[i];
        doubles out(n);
        check(tce_store_read(pointer_, name.c_str(), TCE_STORE_F64, n, out.data()));
        return out;
    }
    /* "" when there is none. */
    std::string text(const std::string &name) const
    {
        const char *found = tce_store_get_text(pointer_, name.c_str());
        return found ? found : "";
    }
    size_t n_arrays() const { return tce_store_n_arrays(pointer_); }
    store_array at(size_t i) const
    {
        store_array out;
        check(tce_store_at(pointer_, i, &out));
        return out;
    }

private:
    explicit store(tce_store *owned) : handle(owned) {}
};

/* ---- movement primitives --------------------------------------------------------------------- */

class mp : public detail::handle<tce_mp, tce_mp_free>
{
public:
    explicit mp(const tce_mp_options &options)
    {
        check(tce_mp_create(&options, nullptr, &pointer_));
    }
    mp(const store &from, const std::string &prefix)
    {
        check(tce_mp_create_from(from.get(), prefix.c_str(), nullptr, &pointer_));
    }

    size_t n_params() const { return tce_mp_n_params(pointer_); }
    size_t n_dof() const { return tce_mp_n_dof(pointer_); }
    size_t n_columns() const { return tce_mp_n_columns(pointer_); }
    /* weights_scales points into this primitive, or is nullptr */
    tce_mp_options options() const
    {
        tce_mp_options out;
        tce_mp_options_init(&out, sizeof out);
        tce_mp_get_options(pointer_, &out);
        return out;
    }
    void save(store &to, const std::string &prefix) const
    {
        check(tce_mp_save(pointer_, to.get(), prefix.c_str()));
    }

    /* outputs may be nullptr */
    void trajectory(const tce_mp_grid &grid, const double *params, double *pos, double *vel,
                    double *acc = nullptr) const
    {
        check(tce_mp_trajectory(pointer_, &grid, params, pos, vel, acc));
    }
    /*
     * One path from init_time on: params [P], times [T], starts [D] or empty for zeros; pos and vel
     * become [T, D].
     */
    void trajectory(const doubles &params, const doubles &times, double init_time,
                    const doubles &init_pos, const doubles &init_vel, doubles &pos,
                    doubles &vel) const
    {
        check_start(params, init_pos, init_vel);
        mp_grid grid;
        grid.E = 1;
        grid.T = times.size();
        grid.n_time_rows = 1;
        grid.n_init_times = 1;
        grid.times = times.data();
        grid.init_time = &init_time;
        grid.init_pos = detail::in(init_pos);
        grid.init_vel = detail::in(init_vel);
        pos.resize(times.size() * n_dof());
        vel.resize(times.size() * n_dof());
        trajectory(grid, params.data(), pos.data(), vel.data());
    }
    void trajectory_backward(const tce_mp_grid &grid, const double *params, const double *d_pos,
                             const double *d_vel, double *d_params) const
    {
        check(tce_mp_trajectory_backward(pointer_, &grid, params, d_pos, d_vel, d_params));
    }
    /* for control loops: no allocation, starts and outputs may be nullptr */
    void query(double time, const double *params, double init_time, const double *init_pos,
               const double *init_vel, double *pos, double *vel, double *acc = nullptr) const
    {
        check(tce_mp_query(pointer_, time, params, init_time, init_pos, init_vel, pos, vel, acc));
    }
    void query(double time, const doubles &params, double init_time, const doubles &init_pos,
               const doubles &init_vel, doubles &pos, doubles &vel) const
    {
        check_start(params, init_pos, init_vel);
        pos.resize(n_dof());
        vel.resize(n_dof());
        query(time, params.data(), init_time, detail::in(init_pos), detail::in(init_vel),
              pos.data(), vel.data());
    }
    void basis(size_t T, const double *times, double init_time, double *pos, double *vel = nullptr,
               double *acc = nullptr) const
    {
        check(tce_mp_basis(pointer_, T, times, init_time, pos, vel, acc));
    }
    void covariance(size_t T, const double *times, double init_time, const double *L, double reg,
                    int32_t order, double *cov, double *std_dev) const
    {
        check(tce_mp_covariance(pointer_, T, times, init_time, L, reg, order, cov, std_dev));
    }
    /* demo [T, D] -> parameters [P] */
    doubles fit(const doubles &times, const doubles &demo, double reg = 1e-9) const
    {
        detail::need(demo.size() == times.size() * n_dof(), "demo is not [T, D]");
        doubles params(n_params()), work(tce_mp_work_size(pointer_));
        check(tce_mp_fit(pointer_, times.size(), times.data(), demo.data(), reg, work.data(),
                         params.data()));
        return params;
    }
    void condition(const std::vector<tce_mp_via> &via, double init_time, const double *init_pos,
                   const double *init_vel, const double *mean, const double *L, double *out_mean,
                   double *out_L) const
    {
        doubles work(tce_mp_work_size(pointer_));
        check(tce_mp_condition(pointer_, via.size(), via.data(), init_time, init_pos, init_vel,
                               mean, L, work.data(), out_mean, out_L));
    }

private:
    void check_start(const doubles &params, const doubles &init_pos, const doubles &init_vel) const
    {
        detail::need(params.size() == n_params(), "params is not [P]");
        detail::need(init_pos.empty() || init_pos.size() == n_dof(),
                     "init_pos is neither empty nor [D]");
        detail::need(init_vel.empty() || init_vel.size() == n_dof(),
                     "init_vel is neither empty nor [D]");
    }
};

inline void blend(const tce_mp_plan &a, const tce_mp_plan &b, double from, double to, size_t T,
                  const double *times, double *pos, double *vel, double *acc = nullptr)
{
    check(tce_mp_blend(&a, &b, from, to, T, times, pos, vel, acc));
}

/* ---- trust region ---------------------------------------------------------------------------- */

class trpl : public detail::handle<tce_trpl, tce_trpl_free>
{
public:
    explicit trpl(const tce_trpl_options &options)
    {
        check(tce_trpl_create(&options, nullptr, &pointer_));
    }

    void project(size_t n, const double *mean, const double *L, const double *old_mean,
                 const double *old_L, const tce_trpl_bounds &bounds, double *out_mean,
                 double *out_L)
    {
        check(tce_trpl_project(pointer_, n, mean, L, old_mean, old_L, &bounds, out_mean, out_L));
    }
    void backward(size_t n, const double *d_mean, const double *d_L, double *out_d_mean,
                  double *out_d_L)
    {
        check(tce_trpl_backward(pointer_, n, d_mean, d_L, out_d_mean, out_d_L));
    }
    /* returns the loss; gradients are added */
    double regression_add(size_t n, const double *mean, const double *L, double coefficient,
                          bool with_cov, double *d_mean, double *d_L)
    {
        double loss = 0.0;
        check(tce_trpl_regression_add(pointer_, n, mean, L, coefficient, with_cov, &loss, d_mean,
                                      d_L));
        return loss;
    }
    void distances(size_t n, double *mean_distance, double *cov_distance, double *eta) const
    {
        check(tce_trpl_distances(pointer_, n, mean_distance, cov_distance, eta));
    }
};

/* ---- segment objective ----------------------------------------------------------------------- */

class segment : public detail::handle<tce_segment, tce_segment_free>
{
public:
    explicit segment(const tce_segment_options &options)
    {
        check(tce_segment_create(&options, nullptr, &pointer_));
    }

    void set_pairs(size_t n_grids, size_t T, const double *times, const double *init_time, size_t J,
                   const int32_t *pairs)
    {
        check(tce_segment_set_pairs(pointer_, n_grids, T, times, init_time, J, pairs));
    }
    void log_prob(const tce_segment_paths &paths) { check(tce_segment_log_prob(pointer_, &paths)); }
    returns_stats surrogate(const tce_segment_paths &paths)
    {
        returns_stats stats;
        check(tce_segment_surrogate(pointer_, &paths, &stats));
        return stats;
    }
};

/* ---- networks -------------------------------------------------------------------------------- */

class net : public detail::handle<tce_net, tce_net_free>
{
public:
    explicit net(const tce_net_options &options)
    {
        check(tce_net_create(&options, nullptr, &pointer_));
    }

    void start(random &stream) { check(tce_net_start(pointer_, stream.get())); }
    void forward(size_t n, const double *x, double *out)
    {
        check(tce_net_forward(pointer_, n, x, out));
    }
    void backward(size_t n, const double *d_out, double *out_d_x = nullptr)
    {
        check(tce_net_backward(pointer_, n, d_out, out_d_x));
    }
    void backward_input(size_t n, const double *d_out, double *out_d_x)
    {
        check(tce_net_backward_input(pointer_, n, d_out, out_d_x));
    }
    /* work: work_size(n) doubles */
    void evaluate(size_t n, const double *x, double *work, double *out) const
    {
        check(tce_net_evaluate(pointer_, n, x, work, out));
    }
    size_t work_size(size_t n) const { return tce_net_work_size(pointer_, n); }
    void hidden(size_t n, double *out) const { check(tce_net_hidden(pointer_, n, out)); }
    void average(const net &other, double share)
    {
        check(tce_net_average(pointer_, other.get(), share));
    }
    /* sums: n_sums numbers, the loss first */
    void pass(size_t n, const double *x, const uint32_t *rows, tce_net_loss loss, void *context,
              size_t n_sums, double *sums)
    {
        check(tce_net_pass(pointer_, n, x, rows, loss, context, n_sums, sums));
    }
    double pass_mse(size_t n, const double *x, const double *target, const uint32_t *rows = nullptr)
    {
        double loss = 0.0;
        check(tce_net_pass_mse(pointer_, n, x, target, rows, &loss));
        return loss;
    }
    double gradient_norm() const { return tce_net_gradient_norm(pointer_); }
    void scale_gradient(double factor) { tce_net_scale_gradient(pointer_, factor); }
    void adam_step(const tce_adam_options &adam) { check(tce_net_adam_step(pointer_, &adam)); }

    size_t n_weights() const { return tce_net_n_weights(pointer_); }
    doubles weights() const
    {
        doubles out(n_weights());
        tce_net_get_weights(pointer_, out.data());
        return out;
    }
    void set_weights(const doubles &weights)
    {
        detail::need(weights.size() == n_weights(), "weights does not have n_weights() numbers");
        check(tce_net_set_weights(pointer_, weights.data()));
    }
    doubles gradient() const
    {
        doubles out(n_weights());
        tce_net_get_gradient(pointer_, out.data());
        return out;
    }
    void save(store &to, const std::string &prefix) const
    {
        check(tce_net_save(pointer_, to.get(), prefix.c_str()));
    }
    void load(const store &from, const std::string &prefix)
    {
        check(tce_net_load(pointer_, from.get(), prefix.c_str()));
    }
};

class policy : public detail::handle<tce_policy, tce_policy_free>
{
public:
    explicit policy(const tce_policy_options &options)
    {
        check(tce_policy_create(&options, nullptr, &pointer_));
    }
    /* max_batch and pool are those of the options, all else the store's */
    policy(const store &from, const std::string &prefix,
           const tce_policy_options &options = policy_options())
    {
        check(tce_policy_create_from(from.get(), prefix.c_str(), &options, nullptr, &pointer_));
    }

    void start(random &stream) { check(tce_policy_start(pointer_, stream.get())); }
    size_t n_factors(size_t n) const { return tce_policy_n_factors(pointer_, n); }
    size_t n_dims() const { return tce_policy_n_dims(pointer_); }
    size_t n_obs() const { return tce_policy_n_obs(pointer_); }
    size_t scale_size() const { return tce_policy_scale_size(pointer_); }
    /* work: work_size(n) doubles */
    void mean(size_t n, const double *obs, double *work, double *out) const
    {
        check(tce_policy_mean(pointer_, n, obs, work, out));
    }
    size_t work_size(size_t n) const { return tce_policy_work_size(pointer_, n); }
    void predict(size_t n, const double *obs, double *out_mean, double *out_scale)
    {
        check(tce_policy_predict(pointer_, n, obs, out_mean, out_scale));
    }
    void backward(size_t n, const double *d_mean, const double *d_scale)
    {
        check(tce_policy_backward(pointer_, n, d_mean, d_scale));
    }
    void hidden(size_t n, double *out) const { check(tce_policy_hidden(pointer_, n, out)); }
    double gradient_norm() const { return tce_policy_gradient_norm(pointer_); }
    void scale_gradient(double factor) { tce_policy_scale_gradient(pointer_, factor); }
    void adam_step(const tce_adam_options &adam) { check(tce_policy_adam_step(pointer_, &adam)); }
    void set_covariance(const double *scale) { check(tce_policy_set_covariance(pointer_, scale)); }

    size_t n_weights() const { return tce_policy_n_weights(pointer_); }
    doubles weights() const
    {
        doubles out(n_weights());
        tce_policy_get_weights(pointer_, out.data());
        return out;
    }
    void set_weights(const doubles &weights)
    {
        detail::need(weights.size() == n_weights(), "weights does not have n_weights() numbers");
        check(tce_policy_set_weights(pointer_, weights.data()));
    }
    doubles gradient() const
    {
        doubles out(n_weights());
        tce_policy_get_gradient(pointer_, out.data());
        return out;
    }
    void save(store &to, const std::string &prefix) const
    {
        check(tce_policy_save(pointer_, to.get(), prefix.c_str()));
    }
    void load(const store &from, const std::string &prefix)
    {
        check(tce_policy_load(pointer_, from.get(), prefix.c_str()));
    }
};

class normaliser : public detail::handle<tce_normaliser, tce_normaliser_free>
{
public:
    explicit normaliser(const tce_normaliser_options &options)
    {
        check(tce_normaliser_create(&options, nullptr, &pointer_));
    }

    void update(size_t n, const double *x, const uint8_t *mask = nullptr)
    {
        check(tce_normaliser_update(pointer_, n, x, mask));
    }
    void apply(size_t n, const double *x, double *out) const
    {
        check(tce_normaliser_apply(pointer_, n, x, out));
    }
    void statistics(double *mean, double *variance, double *count) const
    {
        tce_normaliser_statistics(pointer_, mean, variance, count);
    }
    void save(store &to, const std::string &prefix) const
    {
        check(tce_normaliser_save(pointer_, to.get(), prefix.c_str()));
    }
    void load(const store &from, const std::string &prefix)
    {
        check(tce_normaliser_load(pointer_, from.get(), prefix.c_str()));
    }
};

/* ---- environments ---------------------------------------------------------------------------- */

/* The tasks of a shared object. Must outlive their environments. */
class env_library : public detail::handle<tce_env_library, tce_env_library_free>
{
public:
    explicit env_library(const std::string &path)
    {
        check(tce_env_library_open(path.c_str(), nullptr, &pointer_));
    }

    size_t n_tasks() const { return tce_env_library_n_tasks(pointer_); }
    const tce_env_vtable *at(size_t i) const { return tce_env_library_at(pointer_, i); }
    const tce_env_vtable *find(const std::string &name) const
    {
        const tce_env_vtable *out = nullptr;
        check(tce_env_library_find(pointer_, name.c_str(), &out));
        return out;
    }
};

class rollout : public detail::handle<tce_rollout, tce_rollout_free>
{
public:
    explicit rollout(const tce_rollout_options &options)
    {
        check(tce_rollout_create(&options, nullptr, &pointer_));
    }

    const tce_env_spec &spec() const { return *tce_rollout_spec(pointer_); }
    tce_status status(size_t i) const { return tce_rollout_status(pointer_, i); }
    std::string message(size_t i) const { return tce_rollout_message(pointer_, i); }
    void reset(size_t n, uint64_t episode, double *obs, double *pos, double *vel)
    {
        check(tce_rollout_reset(pointer_, n, episode, obs, pos, vel));
    }
    void reset_where(size_t n, const size_t *which, tce_random *streams, double *obs, double *pos,
                     double *vel)
    {
        check(tce_rollout_reset_where(pointer_, n, which, streams, obs, pos, vel));
    }
    void run(size_t n, size_t T, const double *pos, const double *vel, const tce_rollout_paths &out)
    {
        check(tce_rollout_run(pointer_, n, T, pos, vel, &out));
    }
    void step(size_t n, const double *actions, double *obs, tce_env_result *results)
    {
        check(tce_rollout_step(pointer_, n, actions, obs, results));
    }
    void metrics(size_t n, double *out) { check(tce_rollout_metrics(pointer_, n, out)); }
    void *instance(size_t i) { return tce_rollout_instance(pointer_, i); }
    size_t n_state() const { return tce_rollout_n_state(pointer_); }
    void get_states(size_t n, double *out) { check(tce_rollout_get_states(pointer_, n, out)); }
    void set_states(size_t n, const double *states, double *obs = nullptr)
    {
        check(tce_rollout_set_states(pointer_, n, states, obs));
    }
};

} // namespace tce

#endif
