/*
 * PNG files: one chunk of rows packed by zlib.
 */
#include "tools/png.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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

tce_status png_write(const char *path, int32_t width, int32_t height, const uint8_t *rgb)
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
