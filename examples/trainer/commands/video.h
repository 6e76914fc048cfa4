/*
 * Videos from rgb [height, width, 3], through ffmpeg.
 */
#ifndef TRAINER_VIDEO_H
#define TRAINER_VIDEO_H

#include <tce/tce.h>

typedef struct video video;

/*
 * Whether there is an ffmpeg to start. TCE_E_NOT_FOUND: none; the message has the command that
 * installs it.
 */
tce_status video_check(void);

/*
 * Starts ffmpeg; the file's name tells the format. TCE_E_VALUE: width or height is odd.
 * TCE_E_NOT_FOUND: as video_check.
 */
tce_status video_open(const char *path, int32_t width, int32_t height, double frames_per_second,
                      video **out);
/* TCE_E_IO: ffmpeg has given up. */
tce_status video_frame(video *v, const uint8_t *rgb);
/* Waits for ffmpeg and frees v, also when a frame failed. TCE_E_IO: it did not write the file. */
tce_status video_close(video *v);

#endif
