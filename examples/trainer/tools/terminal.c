/*
 * What the system says of the terminal.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/terminal.h"

int is_terminal(int descriptor)
{
    const char *kind = getenv("TERM");
    return isatty(descriptor) && !(kind && strcmp(kind, "dumb") == 0);
}

size_t terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        return (size_t)size.ws_col - 1;
    return 79;
}
