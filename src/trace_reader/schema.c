/* SPDX-License-Identifier: MIT */
/* Parses schemas: see schema.h. */
#include "trace_reader/schema.h"

#include <stdlib.h>
#include <string.h>

/*
 * The maximum numbers of words, events, lists and texts. Further ones are ignored, so that a damaged file costs little
 * time and memory.
 */
enum { MAX_WORDS = 4096 /* in a line */, MAX_EVENTS = 1024, MAX_LISTS = 256, MAX_TEXTS = 2048 };

static const struct schema_known_kind {
    const char *name;
    enum schema_kind kind;
    size_t size;
} known_kinds[] = {
    { "u8", KIND_UNSIGNED, 1 },  { "u16", KIND_UNSIGNED, 2 }, { "u32", KIND_UNSIGNED, 4 }, { "u64", KIND_UNSIGNED, 8 },
    { "x8", KIND_HEX, 1 },       { "x16", KIND_HEX, 2 },      { "x32", KIND_HEX, 4 },      { "x64", KIND_HEX, 8 },
    { "ptr", KIND_HEX, 8 },      { "ns", KIND_UNSIGNED, 8 },  { "status", KIND_HEX, 4 },   { "addr", KIND_ADDR, 24 },
    { "text16", KIND_TEXT, 16 }, { "bytes", KIND_BYTES, 2 },  { "flags", KIND_FLAGS, 4 },
};

/* Cuts the next word off the line and returns it. Returns NULL at the end of the line. */
static char *schema_next_word(char **line)
{
    char *word = *line;

    if (!word || !*word)
        return NULL;
    *line = strchr(word, ' ');
    if (*line)
        *(*line)++ = '\0';
    return word;
}

static bool schema_parse_number(const char *text, uint32_t *number)
{
    uint64_t value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > UINT32_MAX)
            return false;
    }
    *number = (uint32_t)value;
    return true;
}

static size_t schema_count_words(const char *line)
{
    size_t n = 0;

    for (; line && *line && n < MAX_WORDS; n++) {
        line = strchr(line, ' ');
        line = line ? line + 1 : NULL;
    }
    return n;
}

/*
 * Enlarges an array of `count` elements by one element, which is zeroed. Returns the new array, or NULL if out of
 * memory.
 */
static void *schema_grow(void *array, size_t count, size_t size)
{
    char *grown = realloc(array, (count + 1) * size);

    if (grown)
        memset(grown + count * size, 0, size);
    return grown;
}

/* ---- lines ---- */

/* Parses the rest of a line "names LIST VALUE=NAME ..." after "names". Returns false if out of memory. */
static bool schema_parse_names(struct schema *s, char *line)
{
    char *list = schema_next_word(&line), *word;
    size_t room = schema_count_words(line);
    struct schema_names *lists;

    if (!list || s->n_lists == MAX_LISTS)
        return true;
    lists = schema_grow(s->lists, s->n_lists, sizeof *lists);
    if (!lists)
        return false;
    s->lists = lists;
    struct schema_names *n = &lists[s->n_lists];
    n->names = calloc(room + 1, sizeof *n->names);
    if (!n->names)
        return false;
    n->list = list;
    s->n_lists++;
    while ((word = schema_next_word(&line)) && n->count < room) {
        char *equals = strchr(word, '=');

        if (!equals)
            continue;
        *equals = '\0';
        n->names[n->count].name = equals + 1;
        n->count += schema_parse_number(word, &n->names[n->count].value);
    }
    return true;
}

/* Parses a field, "NAME:KIND" or "NAME:KIND:LIST". */
static void schema_parse_field(const struct schema *s, char *word, struct schema_field *f)
{
    char *kind = strchr(word, ':'), *list = kind ? strchr(kind + 1, ':') : NULL;

    *f = (struct schema_field){ .name = word, .kind = KIND_UNKNOWN };
    if (!kind)
        return;
    *kind++ = '\0';
    if (list)
        *list++ = '\0';
    f->is_pointer = strcmp(kind, "ptr") == 0;
    for (size_t i = 0; i < sizeof known_kinds / sizeof known_kinds[0]; i++) {
        if (strcmp(known_kinds[i].name, kind) == 0) {
            f->kind = known_kinds[i].kind;
            f->size = known_kinds[i].size;
        }
    }
    for (size_t i = 0; list && i < s->n_lists; i++)
        if (strcmp(s->lists[i].list, list) == 0)
            f->names = &s->lists[i];
}

/* Parses the rest of a line "event NUMBER NAME FIELD ..." after "event". Returns false if out of memory. */
static bool schema_parse_event(struct schema *s, char *line)
{
    char *number = schema_next_word(&line), *name = schema_next_word(&line), *word;
    size_t room = schema_count_words(line);
    struct schema_event *events, *e;
    uint32_t parsed;

    if (!number || !name || !schema_parse_number(number, &parsed) || s->n_events == MAX_EVENTS)
        return true;
    events = schema_grow(s->events, s->n_events, sizeof *events);
    if (!events)
        return false;
    s->events = events;
    e = &events[s->n_events];
    e->fields = calloc(room + 1, sizeof *e->fields);
    if (!e->fields)
        return false;
    e->number = parsed;
    e->name = name;
    s->n_events++;
    while (e->n_fields < room && (word = schema_next_word(&line)))
        schema_parse_field(s, word, &e->fields[e->n_fields++]);
    return true;
}

/* Parses "LIST VALUE TEXT". Ignores the text if the value has no name in the list. */
static void schema_parse_sentence(struct schema *s, char *line, bool is_advice)
{
    const char *list = schema_next_word(&line), *number = schema_next_word(&line);
    uint32_t value;

    if (!list || !number || !line || !schema_parse_number(number, &value) || s->n_texts == MAX_TEXTS)
        return;
    s->n_texts++;
    for (size_t i = 0; i < s->n_lists; i++) {
        if (strcmp(s->lists[i].list, list) != 0)
            continue;
        for (size_t k = 0; k < s->lists[i].count; k++) {
            struct schema_name *n = &s->lists[i].names[k];

            if (n->value == value)
                *(is_advice ? &n->advice : &n->text) = line;
        }
        return;
    }
}

static bool schema_parse_text(struct schema *s, char *line)
{
    schema_parse_sentence(s, line, false);
    return true;
}

static bool schema_parse_advice(struct schema *s, char *line)
{
    schema_parse_sentence(s, line, true);
    return true;
}

/*
 * Parses all lines that begin with `first`. Returns false if out of memory. The caller must parse lists first, because
 * events and texts refer to lists.
 */
static bool schema_parse_lines(struct schema *s, char *text, const char *first, bool (*parse)(struct schema *, char *))
{
    char *next;

    for (char *line = text; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (strncmp(line, first, strlen(first)) == 0 && !parse(s, line + strlen(first)))
            return false;
    }
    return true;
}

/*
 * Replaces all bytes that are not printable ASCII, because names are printed to terminals and as JSON. Keeps line
 * breaks.
 */
static void schema_make_printable(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
            text[i] = '?';
}

bool schema_parse(struct schema *s, const char *text, size_t size)
{
    static const struct {
        const char *first;
        bool (*parse)(struct schema *, char *);
    } passes[] = { { "names ", schema_parse_names },
                   { "event ", schema_parse_event },
                   { "text ", schema_parse_text },
                   { "advice ", schema_parse_advice } };
    enum { PASSES = sizeof passes / sizeof passes[0] };

    *s = (struct schema){ .text = malloc(PASSES * (size + 1)) };
    if (!s->text)
        return false;
    /* Each pass needs its own copy, because a pass cuts its lines into words. */
    memcpy(s->text, text, size);
    schema_make_printable(s->text, size);
    s->text[size] = '\0';
    for (size_t i = 1; i < PASSES; i++)
        memcpy(s->text + i * (size + 1), s->text, size + 1);
    for (size_t i = 0; i < PASSES; i++) {
        if (!schema_parse_lines(s, s->text + i * (size + 1), passes[i].first, passes[i].parse)) {
            schema_free(s);
            return false;
        }
    }
    return true;
}

void schema_free(struct schema *s)
{
    for (size_t i = 0; i < s->n_events; i++)
        free(s->events[i].fields);
    for (size_t i = 0; i < s->n_lists; i++)
        free(s->lists[i].names);
    free(s->events);
    free(s->lists);
    free(s->text);
    *s = (struct schema){ 0 };
}

const struct schema_event *schema_find(const struct schema *s, uint32_t number)
{
    for (size_t i = 0; i < s->n_events; i++)
        if (s->events[i].number == number)
            return &s->events[i];
    return NULL;
}

const struct schema_name *schema_find_name(const struct schema_names *names, uint64_t value)
{
    for (size_t i = 0; names && i < names->count; i++)
        if (names->names[i].value == value)
            return &names->names[i];
    return NULL;
}

const char *schema_name_of(const struct schema_names *names, uint64_t value)
{
    const struct schema_name *n = schema_find_name(names, value);

    return n ? n->name : NULL;
}
