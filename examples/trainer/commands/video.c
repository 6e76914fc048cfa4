/*
 * A PNG writer of one page, and frames through a pipe into ffmpeg.
 */
#include "commands/video.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

extern char **environ;

/* ---- PNG ------------------------------------------------------------------------------------- */

static void put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Length, type, data, checksum of type and data. */
static void put_chunk(FILE *file, const char *type, const uint8_t *data, size_t size)
{
    uint8_t word[4];
    put_u32(word, (uint32_t)size);
    fwrite(word, 1, 4, file);
    fwrite(type, 1, 4, file);
    if (size > 0)
        fwrite(data, 1, size, file);
    uLong crc = crc32(0, (const Bytef *)type, 4);
    if (size > 0)
        crc = crc32(crc, data, (uInt)size);
    put_u32(word, (uint32_t)crc);
    fwrite(word, 1, 4, file);
}

/* Rows, each after a byte 1: every byte less its neighbour to the left, which packs better. */
static void filter_rows(int32_t width, int32_t height, const uint8_t *rgb, uint8_t *out)
{
    const size_t row = (size_t)width * 3;
    for (int32_t y = 0; y < height; y++, rgb += row) {
        *out++ = 1;
        for (size_t i = 0; i < row; i++)
            *out++ = (uint8_t)(rgb[i] - (i >= 3 ? rgb[i - 3] : 0));
    }
}

static tce_status write_png(const char *path, int32_t width, int32_t height, const uint8_t *packed,
                            size_t size)
{
    static const uint8_t SIGNATURE[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
    /* 8 bits a channel, rgb */
    uint8_t header[13] = { 0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0 };
    FILE *file = fopen(path, "wb");
    if (!file)
        return tce_fail(TCE_E_IO, "cannot write %s: %s", path, strerror(errno));
    put_u32(header, (uint32_t)width);
    put_u32(header + 4, (uint32_t)height);
    fwrite(SIGNATURE, 1, sizeof SIGNATURE, file);
    put_chunk(file, "IHDR", header, sizeof header);
    put_chunk(file, "IDAT", packed, size);
    put_chunk(file, "IEND", NULL, 0);
    const int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return tce_fail(TCE_E_IO, "cannot write %s: %s", path, strerror(errno));
    return TCE_OK;
}

tce_status picture_write(const char *path, int32_t width, int32_t height, const uint8_t *rgb)
{
    const uLong raw_size = ((uLong)width * 3 + 1) * (uLong)height;
    uLongf size = compressBound(raw_size);
    uint8_t *raw = malloc(raw_size), *packed = malloc(size);
    tce_status status = tce_fail(TCE_E_NOMEM, "no memory for a picture of %d x %d", (int)width,
                                 (int)height);
    if (raw && packed) {
        filter_rows(width, height, rgb, raw);
        if (compress2(packed, &size, raw, raw_size, Z_BEST_COMPRESSION) == Z_OK)
            status = write_png(path, width, height, packed, size);
    }
    free(raw);
    free(packed);
    return status;
}

/* ---- video ----------------------------------------------------------------------------------- */

struct video {
    pid_t ffmpeg;
    int pipe;
    size_t frame_size;
    struct sigaction former_pipe; /* what SIGPIPE did before */
    char path[1024];
};

tce_status video_check(void)
{
    /* as posix_spawnp looks for it */
    const char *at = getenv("PATH");
    for (at = at ? at : "/bin:/usr/bin"; *at;) {
        char path[4096];
        const size_t length = strcspn(at, ":");
        const int n = snprintf(path, sizeof path, "%.*s%sffmpeg", (int)length, at,
                               length ? "/" : "");
        if (n > 0 && (size_t)n < sizeof path && access(path, X_OK) == 0)
            return TCE_OK;
        at += length + (at[length] == ':');
    }
    return tce_fail(TCE_E_NOT_FOUND, "videos need the program ffmpeg, which is not there; install "
                                     "it with:  sudo apt-get install -y ffmpeg");
}

static int start_ffmpeg(video *v, int32_t width, int32_t height, double rate, int input)
{
    char size[32], frames[32];
    snprintf(size, sizeof size, "%dx%d", (int)width, (int)height);
    snprintf(frames, sizeof frames, "%.6f", rate);
    char *const arguments[] = { "ffmpeg", "-y",         "-nostdin", "-loglevel", "error",
                                "-f",     "rawvideo",   "-pix_fmt", "rgb24",     "-video_size",
                                size,     "-framerate", frames,     "-i",        "pipe:0",
                                "-an",    "-pix_fmt",   "yuv420p",  "-movflags", "+faststart",
                                v->path,  NULL };
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!error)
        error = posix_spawnp(&v->ffmpeg, "ffmpeg", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

tce_status video_open(const char *path, int32_t width, int32_t height, double frames_per_second,
                      video **out)
{
    *out = NULL;
    int ends[2];
    if (width % 2 || height % 2)
        return tce_fail(TCE_E_VALUE, "a video of %d x %d: both must be even", (int)width,
                        (int)height);
    video *v = calloc(1, sizeof *v);
    if (!v)
        return tce_fail(TCE_E_NOMEM, "no memory for a video");
    /* "./" keeps a name that begins with '-' or has a ':' from meaning something else to ffmpeg */
    const int length = snprintf(v->path, sizeof v->path, "%s%s", path[0] == '/' ? "" : "./", path);
    if (length < 0 || (size_t)length >= sizeof v->path) {
        free(v);
        return tce_fail(TCE_E_VALUE, "the path of the video is longer than %zu characters",
                        sizeof v->path - 1);
    }
    if (pipe(ends) != 0) {
        free(v);
        return tce_fail(TCE_E_IO, "cannot start a video: %s", strerror(errno));
    }

    /* our end must not live on in the child, which waits for its closing */
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    const int error = start_ffmpeg(v, width, height, frames_per_second, ends[0]);
    close(ends[0]);
    if (error) {
        close(ends[1]);
        free(v);
        if (error == ENOENT && video_check() != TCE_OK)
            return TCE_E_NOT_FOUND;
        return tce_fail(TCE_E_IO, "cannot start ffmpeg: %s", strerror(error));
    }
    struct sigaction ignore;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &v->former_pipe);
    v->pipe = ends[1];
    v->frame_size = (size_t)width * (size_t)height * 3;
    *out = v;
    return TCE_OK;
}

tce_status video_frame(video *v, const uint8_t *rgb)
{
    for (size_t done = 0; done < v->frame_size;) {
        const ssize_t n = write(v->pipe, rgb + done, v->frame_size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tce_fail(
                TCE_E_IO, "ffmpeg has stopped while writing %s; its own message is above", v->path);
        done += (size_t)n;
    }
    return TCE_OK;
}

tce_status video_close(video *v)
{
    int result = 0;
    close(v->pipe);
    while (waitpid(v->ffmpeg, &result, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGPIPE, &v->former_pipe, NULL);
    const int fine = WIFEXITED(result) && WEXITSTATUS(result) == 0;
    tce_status status = TCE_OK;
    if (!fine)
        status = tce_fail(TCE_E_IO, "ffmpeg could not write %s; its own message is above", v->path);
    free(v);
    return status;
}
