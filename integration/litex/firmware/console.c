#include "console.h"

#include <stddef.h>

#include <generated/csr.h>

void *memcpy(void *to, const void *from, size_t bytes)
{
    uint8_t *at = to;
    const uint8_t *source = from;
    while (bytes--)
        *at++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *at = to;
    while (bytes--)
        *at++ = (uint8_t)value;
    return to;
}

static void put_byte(char byte)
{
    if (byte == '\n')
        put_byte('\r');
    while (uart_txfull_read())
        ;
    uart_rxtx_write((uint8_t)byte);
}

void put_text(const char *text)
{
    while (*text)
        put_byte(*text++);
}

void put_left(const char *text, unsigned width)
{
    while (*text) {
        put_byte(*text++);
        width -= width > 0;
    }
    while (width--)
        put_byte(' ');
}

static void put_right(const char *text, unsigned length, unsigned width)
{
    while (width-- > length)
        put_byte(' ');
    put_text(text);
}

void put_number(uint32_t value, unsigned width)
{
    char text[11], *at = text + sizeof(text) - 1;
    *at = 0;
    do {
        *--at = (char)('0' + value % 10u);
        value /= 10u;
    } while (value);
    put_right(at, (unsigned)(text + sizeof(text) - 1 - at), width);
}

void put_ratio(uint32_t a, uint32_t b, unsigned width)
{
    const uint32_t hundredths = (100u * a + b / 2u) / b;
    put_number(hundredths / 100u, width - 3u);
    put_byte('.');
    put_byte((char)('0' + hundredths / 10u % 10u));
    put_byte((char)('0' + hundredths % 10u));
}

void put_end(void)
{
    while (!uart_txempty_read())
        ;
}
