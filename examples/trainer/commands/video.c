/*
 * Videos: frames through a pipe into ffmpeg.
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

extern char **environ;

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
    return tce_fail(TCE_E_NOT_FOUND, "videos need the program ffmpeg, which is not installed; "
                                     "install it with:  sudo apt-get install -y ffmpeg");
}

static int start_ffmpeg(video *v, int32_t width, int32_t height, double rate, int input)
{
    char size[32], frames[32];
    snprintf(size, sizeof size, "%dx%d", (int)width, (int)height);
    snprintf(frames, sizeof frames, "%.6f", rate);
    /* a GIF has 256 colours at most, so it gets those of its own pictures, and fewer pictures */
    const size_t length = strlen(v->path);
    const int gif = length > 4 && strcmp(v->path + length - 4, ".gif") == 0;
    char *const filter = gif ? "fps=20,split[a][b];[a]palettegen=max_colors=64[colours];"
                               "[b][colours]paletteuse=dither=none:diff_mode=rectangle"
                             : "format=yuv420p";
    char *const arguments[] = { "ffmpeg",
                                "-y",
                                "-nostdin",
                                "-loglevel",
                                "error",
                                "-f",
                                "rawvideo",
                                "-pix_fmt",
                                "rgb24",
                                "-video_size",
                                size,
                                "-framerate",
                                frames,
                                "-i",
                                "pipe:0",
                                "-an",
                                "-vf",
                                filter,
                                gif ? "-loop" : "-movflags",
                                gif ? "0" : "+faststart",
                                v->path,
                                NULL };
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
