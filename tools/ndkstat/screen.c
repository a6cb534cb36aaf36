/* SPDX-License-Identifier: MIT */
/*
 * Shows a full-screen display: see screen.h. Uses no library, only a few escape sequences of xterm that nearly all
 * terminals support. The invariant: after screen_close this file writes nothing to the terminal, so a thread that
 * handles Ctrl-C may call screen_close at any time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "interrupt.h"
#include "monotonic.h"

/* Switches to the alternate screen, hides the cursor, and turns off the wrapping of long lines. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define HOME "\033[H"
#define END_LINE "\033[K\n"
#define CLEAR_REST "\033[J"
#define REVERSE "\033[7m"
#define NORMAL "\033[0m"

enum { MAX_MESSAGE_LINES = 4, SLICE_MS = 100, MAX_KEY = 8, COLUMN_STEP = 8, MIN_ROWS = 3 };

static struct {
    pthread_mutex_t lock; /* protects is_open; held during writes to the terminal */
    bool is_open;
    struct termios before;
    unsigned rows, columns;
    size_t top, left; /* index of the first visible line, and of the first visible column */
} screen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_bool is_resized; /* atomic, because the signal handler may run on any thread */

static void screen_on_resize(int number)
{
    (void)number;
    atomic_store(&is_resized, true);
}

/* ---- the terminal ---- */

static void screen_read_size(void)
{
    struct winsize size;

    atomic_store(&is_resized, false);
    screen.rows = 24;
    screen.columns = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
        screen.rows = size.ws_row;
        screen.columns = size.ws_col;
    }
    if (screen.rows < MIN_ROWS)
        screen.rows = MIN_ROWS;
}

/* Writes all bytes. Returns false if the terminal does not accept them. Requires the lock. */
static bool screen_write(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, len);
        struct pollfd ready = { .fd = STDOUT_FILENO, .events = POLLOUT };

        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            (void)poll(&ready, 1, SLICE_MS);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool screen_open(void)
{
    const char *term = getenv("TERM");
    struct sigaction resize = { .sa_handler = screen_on_resize };
    struct termios mode;
    bool is_written;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0 ||
        tcgetattr(STDIN_FILENO, &screen.before) != 0)
        return false;
    sigaction(SIGWINCH, &resize, NULL);
    mode = screen.before;
    mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    mode.c_cc[VMIN] = 0;
    mode.c_cc[VTIME] = 0;
    /* Ctrl-Z is read as a key, so that ndkstat can restore the terminal before it stops itself */
    mode.c_cc[VSUSP] = _POSIX_VDISABLE;
    mode.c_cc[VQUIT] = _POSIX_VDISABLE;
    screen_read_size();
    pthread_mutex_lock(&screen.lock);
    screen.is_open = tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode) == 0;
    is_written = screen.is_open && screen_write(ENTER, strlen(ENTER));
    pthread_mutex_unlock(&screen.lock);
    if (!is_written)
        screen_close();
    return is_written;
}

void screen_close(void)
{
    pthread_mutex_lock(&screen.lock);
    if (screen.is_open) {
        (void)screen_write(LEAVE, strlen(LEAVE));
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
    }
    screen.is_open = false;
    pthread_mutex_unlock(&screen.lock);
}

/* ---- drawing ---- */

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static const char *next_line(const char *text)
{
    const char *end = strchr(text, '\n');

    return end ? end + 1 : text + strlen(text);
}

/* Writes the part of a line that begins at column `from` and fits on the screen. Returns the start of the next line. */
static const char *draw_line(FILE *out, const char *line, size_t from)
{
    size_t len = strcspn(line, "\n");

    if (from < len)
        fprintf(out, "%.*s", (int)(len - from < screen.columns ? len - from : screen.columns), line + from);
    fputs(END_LINE, out);
    return next_line(line);
}

static size_t screen_text_rows(const char *messages)
{
    size_t n = count_lines(messages);

    if (n > MAX_MESSAGE_LINES)
        n = MAX_MESSAGE_LINES;
    return screen.rows - 1 > n + 1 ? screen.rows - 1 - n : 1;
}

static void draw_all(FILE *out, const char *title, const char *text, const char *messages)
{
    size_t rows = screen_text_rows(messages), n_lines = count_lines(text);
    char heading[256];

    if (screen.top + rows > n_lines)
        screen.top = n_lines > rows ? n_lines - rows : 0;
    snprintf(heading, sizeof heading, "%s  (lines %zu-%zu of %zu; q quits)", title, screen.top + 1,
             screen.top + rows < n_lines ? screen.top + rows : n_lines, n_lines);
    fprintf(out, HOME REVERSE "%-*.*s" NORMAL "\n", (int)screen.columns, (int)screen.columns, heading);
    for (size_t i = 0; i < screen.top; i++)
        text = next_line(text);
    for (size_t i = 0; i < rows; i++)
        text = draw_line(out, text, screen.left);
    for (size_t i = 0; i < MAX_MESSAGE_LINES && *messages; i++)
        messages = draw_line(out, messages, 0);
}

/* Draws title, text and messages. Returns false if the terminal cannot be written. */
static bool screen_draw(const char *title, const char *text, const char *messages)
{
    char *bytes = NULL;
    size_t len = 0;
    FILE *out;
    bool ok;

    if (is_resized)
        screen_read_size();
    out = open_memstream(&bytes, &len);
    if (!out)
        return false;
    draw_all(out, title, text, messages);
    if (fclose(out) != 0 || !len) {
        free(bytes);
        return false;
    }
    len--; /* removes the last line break, which would scroll the screen */
    pthread_mutex_lock(&screen.lock);
    ok = !screen.is_open || (screen_write(bytes, len) && screen_write(CLEAR_REST, strlen(CLEAR_REST)));
    pthread_mutex_unlock(&screen.lock);
    free(bytes);
    return ok;
}

/* ---- keys ---- */

enum key { KEY_NONE, KEY_QUIT, KEY_READ, KEY_MOVED, KEY_SUSPEND };

static enum key screen_move(size_t *position, size_t by, bool back)
{
    if (back)
        *position -= by < *position ? by : *position;
    else
        *position += by;
    return KEY_MOVED;
}

/*
 * Handles the bytes that one read() has returned: one key, or several if the user types fast. If there are several
 * keys, handles only the first key, or no key if the first key is an escape sequence.
 */
static enum key screen_handle_key(const char *key, size_t page)
{
    static const struct {
        const char *sequence;
        char letter;
    } sequences[] = {
        { "\033[A", 'k' },  { "\033[B", 'j' }, { "\033[C", 'l' }, { "\033[D", 'h' },  { "\033[5~", 'b' },
        { "\033[6~", 'f' }, { "\033[H", 'g' }, { "\033[F", 'G' }, { "\033[1~", 'g' }, { "\033[4~", 'G' },
        { "\033OA", 'k' },  { "\033OB", 'j' }, { "\033OC", 'l' }, { "\033OD", 'h' },
    };
    char letter = key[0];

    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++)
        if (strcmp(key, sequences[i].sequence) == 0)
            letter = sequences[i].letter;
    switch (letter) {
    case 'q':
    case 'Q':
        return KEY_QUIT;
    case ' ':
    case '\r':
    case '\n':
        return KEY_READ;
    case 'k':
        return screen_move(&screen.top, 1, true);
    case 'j':
        return screen_move(&screen.top, 1, false);
    case 'h':
        return screen_move(&screen.left, COLUMN_STEP, true);
    case 'l':
        return screen_move(&screen.left, COLUMN_STEP, false);
    case 'b':
        return screen_move(&screen.top, page, true);
    case 'f':
        return screen_move(&screen.top, page, false);
    case 'g':
        return screen_move(&screen.top, screen.top, true);
    case 'G':
        /* beyond the end: the next screen_draw shows the last page */
        return screen_move(&screen.top, SIZE_MAX / 4, false);
    case 'Z' - '@':
        return KEY_SUSPEND;
    default:
        return KEY_NONE;
    }
}

/*
 * Restores the terminal and stops the process, as Ctrl-Z does. Opens the screen again when the process continues.
 * Returns false if that fails.
 */
static bool screen_suspend(void)
{
    screen_close();
    raise(SIGSTOP);
    return screen_open();
}

enum screen_event screen_show(const char *title, const char *text, const char *messages, double seconds)
{
    int64_t deadline = monotonic_ms() + (int64_t)(seconds * 1000);
    bool must_draw = true;

    for (;;) {
        struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
        int64_t left = deadline - monotonic_ms();
        char key[MAX_KEY] = "";
        enum key what = KEY_NONE;

        if ((must_draw || is_resized) && !screen_draw(title, text, messages))
            return SCREEN_LOST;
        if (interrupt_received())
            return SCREEN_INTERRUPTED;
        if (left <= 0)
            return SCREEN_TIMEOUT;
        if (poll(&input, 1, (int)(left < SLICE_MS ? left : SLICE_MS)) > 0) {
            if (input.revents & (POLLHUP | POLLERR) || read(STDIN_FILENO, key, sizeof key - 1) < 0)
                return SCREEN_LOST;
            what = screen_handle_key(key, screen_text_rows(messages));
        }
        if (what == KEY_QUIT)
            return SCREEN_QUIT;
        if (what == KEY_READ)
            return SCREEN_TIMEOUT;
        if (what == KEY_SUSPEND && !screen_suspend())
            return SCREEN_LOST;
        must_draw = what != KEY_NONE;
    }
}
